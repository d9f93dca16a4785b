// millrace job retry: runs ended jobs again.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/job/bulk.h"
#include "cli/job/view.h"
#include "cli/options.h"

namespace millrace::cli {
namespace {

BulkKind kind() {
  return {.action = "retry",
          .verb = "Retry",
          .done = "retried",
          .ending = "",
          .states = {"succeeded", "dead", "cancelled", "expired"},
          .defaults = {"dead"}};
}

}  // namespace

void add_job_retry(CLI::App& job, Session& session) {
  CLI::App& command = *job.add_subcommand("retry", "Run ended jobs again");
  struct Retry {
    std::vector<std::string> ids;
    std::optional<sdk::Timestamp> run_at;
    bool keep_attempts = false;
    bool drop_limits = false;
    JobBulk bulk;
  };
  const auto options = std::make_shared<Retry>();
  CLI::Option* ids = command.add_option("ID", options->ids, "Job ids");
  CLI::Option* filter = add_bulk_options(command, ids, options->bulk);
  add_time(command, "--run-at", options->run_at, "Earliest start; not with --filter")
      ->excludes(filter);
  command
      .add_flag("--keep-attempts", options->keep_attempts,
                "Keep the count of attempts; not with --filter")
      ->excludes(filter);
  command
      .add_flag("--drop-limits", options->drop_limits,
                "Drop the job's limits that have been deleted; not with --filter")
      ->excludes(filter);
  command.footer(
      "A filter without a state selects dead jobs.\n"
      "Examples:\n"
      "  millrace job retry 019cb0b7-3f5c-737a-8def-0123456789ab\n"
      "  millrace job retry --filter 'queue:email error~timeout' --dry-run\n"
      "  millrace job retry --filter 'state:dead error~550' --yes");
  command.callback([options, &session] {
    if (refuse_no_jobs(options->ids, options->bulk, session)) return;
    if (!options->bulk.filter.empty()) return run_bulk(options->bulk, kind(), session);
    for_each_job(session, options->ids,
                 [&](sdk::Client& client, const std::string& id) -> sdk::Result<std::string> {
                   auto retried = client.retry(id, {.run_at = options->run_at,
                                                    .reset_attempts = !options->keep_attempts,
                                                    .drop_limits = options->drop_limits});
                   if (!retried) return std::unexpected(retried.error());
                   return session.json() ? retried->json
                                         : fmt::format("{}  {}", retried->id, retried->state);
                 });
  });
}

}  // namespace millrace::cli
