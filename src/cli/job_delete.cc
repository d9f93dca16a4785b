// millrace job delete: remove jobs and all that is known of them.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/job_view.h"

namespace millrace::cli {

void add_job_delete(CLI::App& job, Session& session) {
  CLI::App& command = *job.add_subcommand("delete", "Delete jobs that are not running, for good");
  const auto ids = std::make_shared<std::vector<std::string>>();
  command.add_option("ID", *ids, "Job ids")->required();
  command.footer("Examples:\n  millrace job delete 019cb0b7-3f5c-737a-8def-0123456789ab");
  command.callback([ids, &session] {
    for_each_job(session, *ids,
                 [&](sdk::Client& client, const std::string& id) -> sdk::Result<std::string> {
                   const auto removed = client.remove(id);
                   if (!removed) return std::unexpected(removed.error());
                   return session.json() ? std::string() : fmt::format("{}  deleted", id);
                 });
  });
}

}  // namespace millrace::cli
