// millrace job retry: run ended jobs again.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/job_view.h"
#include "cli/options.h"

namespace millrace::cli {

void add_job_retry(CLI::App& job, Session& session) {
  CLI::App& command = *job.add_subcommand("retry", "Run jobs again that have ended");
  struct Retry {
    std::vector<std::string> ids;
    std::optional<sdk::Timestamp> run_at;
    bool keep_attempts = false;
  };
  const auto options = std::make_shared<Retry>();
  command.add_option("ID", options->ids, "Job ids")->required();
  add_time(command, "--run-at", options->run_at, "Not before this time");
  command.add_flag("--keep-attempts", options->keep_attempts, "Do not count attempts from 0 again");
  command.footer(
      "Examples:\n"
      "  millrace job retry 019cb0b7-3f5c-737a-8def-0123456789ab\n"
      "  millrace job retry $(millrace job list 'state:dead queue:email' -o json | jq -r "
      "'.items[].id')");
  command.callback([options, &session] {
    for_each_job(session, options->ids,
                 [&](sdk::Client& client, const std::string& id) -> sdk::Result<std::string> {
                   auto retried = client.retry(
                       id, {.run_at = options->run_at, .reset_attempts = !options->keep_attempts});
                   if (!retried) return std::unexpected(retried.error());
                   return session.json() ? retried->json
                                         : fmt::format("{}  {}", retried->id, retried->state);
                 });
  });
}

}  // namespace millrace::cli
