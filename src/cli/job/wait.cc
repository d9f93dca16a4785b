// millrace job wait: waits until jobs have ended.
#include <fmt/format.h>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/job/view.h"
#include "cli/options.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

struct Wait {
  std::vector<std::string> ids;
  std::optional<sdk::Milliseconds> timeout;
};

void run(const Wait& options, Session& session) {
  if (session.refuse_dashes()) return;
  const auto began = std::chrono::steady_clock::now();
  session.with_client([&](sdk::Client& client) {
    for (const std::string& id : options.ids) {
      std::optional<sdk::Milliseconds> left = options.timeout;
      if (left) {
        left =
            std::max(sdk::Milliseconds{0}, *left - std::chrono::floor<sdk::Milliseconds>(
                                                       std::chrono::steady_clock::now() - began));
      }
      auto end = wait_for_end(client, id, left);
      if (!end) return session.fail(end.error());
      if (!*end) {
        return session.fail(kFailure, fmt::format("job {} did not end within {}; it goes on", id,
                                                  format_duration(*options.timeout)));
      }
      if (exit_code_of_end(**end) != kOk) session.exit_code = kDidNotSucceed;
      print_line(session.json() ? (*end)->json : fmt::format("{}  {}", id, job_summary(**end)));
    }
  });
}

}  // namespace

void add_job_wait(CLI::App& job, Session& session) {
  CLI::App& command =
      *job.add_subcommand("wait", "Wait until jobs end; exit code 8 unless all succeed");
  const auto options = std::make_shared<Wait>();
  command.add_option("ID", options->ids, "Job ids")->required();
  add_duration(command, "--timeout", options->timeout,
               "Longest time to wait; after it exit code 1");
  command.footer(
      "Examples:\n"
      "  millrace job wait 019cb0b7-3f5c-737a-8def-0123456789ab --timeout 5m");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
