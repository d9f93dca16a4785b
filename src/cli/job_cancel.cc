// millrace job cancel: end jobs before their time.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/job_view.h"

namespace millrace::cli {

void add_job_cancel(CLI::App& job, Session& session) {
  CLI::App& command = *job.add_subcommand(
      "cancel", "Cancel jobs: waiting ones at once, running ones through their worker");
  struct Cancel {
    std::vector<std::string> ids;
    std::string reason;
  };
  const auto options = std::make_shared<Cancel>();
  command.add_option("ID", options->ids, "Job ids")->required();
  command.add_option("--reason", options->reason, "Kept with the job");
  command.footer(
      "Examples:\n"
      "  millrace job cancel 019cb0b7-3f5c-737a-8def-0123456789ab --reason 'wrong address'");
  command.callback([options, &session] {
    for_each_job(session, options->ids,
                 [&](sdk::Client& client, const std::string& id) -> sdk::Result<std::string> {
                   auto cancelled = client.cancel(id, options->reason);
                   if (!cancelled) return std::unexpected(cancelled.error());
                   if (session.json()) return cancelled->json;
                   const bool is_pending = cancelled->cancel_requested && !cancelled->is_final();
                   return fmt::format("{}  {}{}", cancelled->id, cancelled->state,
                                      is_pending ? ", its worker is told" : "");
                 });
  });
}

}  // namespace millrace::cli
