// millrace job cancel: ends jobs early.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/job/bulk.h"
#include "cli/job/view.h"

namespace millrace::cli {
namespace {

BulkKind kind() {
  const std::vector<std::string> not_ended{"scheduled", "ready", "running", "retrying", "blocked"};
  return {.action = "cancel",
          .verb = "Cancel",
          .done = "cancelled",
          .ending = "",
          .states = not_ended,
          .defaults = not_ended};
}

}  // namespace

void add_job_cancel(CLI::App& job, Session& session) {
  CLI::App& command =
      *job.add_subcommand("cancel", "Cancel jobs; the worker of a running job stops it");
  struct Cancel {
    std::vector<std::string> ids;
    std::string reason;
    JobBulk bulk;
  };
  const auto options = std::make_shared<Cancel>();
  CLI::Option* ids = command.add_option("ID", options->ids, "Job ids");
  CLI::Option* filter = add_bulk_options(command, ids, options->bulk);
  command.add_option("--reason", options->reason, "Reason, which the job keeps; not with --filter")
      ->excludes(filter);
  command.footer(
      "Examples:\n"
      "  millrace job cancel 019cb0b7-3f5c-737a-8def-0123456789ab --reason 'too late'\n"
      "  millrace job cancel --filter 'queue:email tag:newsletter'");
  command.callback([options, &session] {
    if (refuse_no_jobs(options->ids, options->bulk, session)) return;
    if (!options->bulk.filter.empty()) return run_bulk(options->bulk, kind(), session);
    for_each_job(session, options->ids,
                 [&](sdk::Client& client, const std::string& id) -> sdk::Result<std::string> {
                   auto cancelled = client.cancel(id, options->reason);
                   if (!cancelled) return std::unexpected(cancelled.error());
                   if (session.json()) return cancelled->json;
                   const bool is_pending = cancelled->cancel_requested && !cancelled->is_final();
                   return fmt::format("{}  {}{}", cancelled->id, cancelled->state,
                                      is_pending ? ", the server tells its worker" : "");
                 });
  });
}

}  // namespace millrace::cli
