// millrace job get: shows all about one job.
#include "cli/commands.h"
#include "cli/job/view.h"
#include "cli/output.h"

namespace millrace::cli {

void add_job_get(CLI::App& job, Session& session) {
  CLI::App& command =
      *job.add_subcommand("get", "Show jobs with payload, result, attempts and all other members");
  struct Get {
    std::vector<std::string> ids;
    std::vector<std::string> include = {"payload", "result", "attempts"};
  };
  const auto options = std::make_shared<Get>();
  command.add_option("ID", options->ids, "Job ids")->required();
  command
      .add_option("--include", options->include,
                  "Members from payload,result,attempts,logs,events (default: the first three)")
      ->type_name("MEMBER")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.footer(
      "Examples:\n"
      "  millrace job get 019cb0b7-3f5c-737a-8def-0123456789ab\n"
      "  millrace job get ID -o json --include result | jq .result");
  command.callback([options, &session] {
    for_each_job(session, options->ids,
                 [&](sdk::Client& client, const std::string& id) -> sdk::Result<std::string> {
                   auto found = client.get(id, {.include = options->include});
                   if (!found) return std::unexpected(found.error());
                   if (session.json()) return found->json;
                   const bool is_last = &id == &options->ids.back();
                   return job_details(*found, now()) + (is_last ? "" : "\n");
                 });
  });
}

}  // namespace millrace::cli
