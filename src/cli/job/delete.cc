// millrace job delete: deletes jobs and their history.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/job/bulk.h"
#include "cli/job/view.h"

namespace millrace::cli {
namespace {

struct Delete {
  std::vector<std::string> ids;
  JobBulk bulk;
};

BulkKind kind() {
  const std::vector<std::string> all_but_running{"scheduled", "ready",     "retrying", "blocked",
                                                 "succeeded", "cancelled", "expired",  "dead"};
  return {.action = "delete",
          .verb = "Delete",
          .done = "deleted",
          .ending = " for good",
          .states = all_but_running,
          .defaults = all_but_running};
}

void run(const Delete& options, Session& session) {
  if (refuse_no_jobs(options.ids, options.bulk, session)) return;
  if (!options.bulk.filter.empty()) return run_bulk(options.bulk, kind(), session);
  const std::string question = options.ids.size() == 1
                                   ? fmt::format("Delete job {} for good?", options.ids.front())
                                   : fmt::format("Delete {} jobs for good?", options.ids.size());
  if (!is_confirmed(session, options.bulk.yes, question)) return;
  for_each_job(session, options.ids,
               [&](sdk::Client& client, const std::string& id) -> sdk::Result<std::string> {
                 const auto removed = client.remove(id);
                 if (!removed) return std::unexpected(removed.error());
                 return session.json() ? std::string() : fmt::format("{}  deleted", id);
               });
}

}  // namespace

void add_job_delete(CLI::App& job, Session& session) {
  CLI::App& command = *job.add_subcommand("delete", "Delete jobs for good; not running ones");
  const auto options = std::make_shared<Delete>();
  CLI::Option* ids = command.add_option("ID", options->ids, "Job ids");
  add_bulk_options(command, ids, options->bulk);
  command.footer(
      "Examples:\n"
      "  millrace job delete 019cb0b7-3f5c-737a-8def-0123456789ab --yes\n"
      "  millrace job delete --filter 'queue:trial state:succeeded' --dry-run\n"
      "  millrace job delete --filter 'queue:trial state:succeeded' --yes");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
