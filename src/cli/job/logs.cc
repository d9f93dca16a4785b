// millrace job logs: shows the lines that workers logged for a job.
#include <fmt/format.h>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

struct Logs {
  std::string id;
  std::optional<int> attempt;
};

std::string line_text(const sdk::LogLine& line) {
  const std::string at = line.at ? format_rfc3339(*line.at) : "-";
  const std::string level = line.level == "info" ? "" : printable(line.level) + "  ";
  return fmt::format("{}  #{}  {}{}\n", at, line.attempt, level, printable(line.message));
}

void run(const Logs& options, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    auto lines = client.logs(options.id);
    if (!lines) return session.fail(lines.error());
    std::string text;
    for (const sdk::LogLine& line : *lines) {
      if (options.attempt && line.attempt != *options.attempt) continue;
      if (session.json()) {
        text += (text.empty() ? "" : ",") + line.json;
      } else {
        text += line_text(line);
      }
    }
    if (session.json())
      return print(fmt::format("{{\"items\":[{}],\"next_cursor\":null}}\n", text));
    if (text.empty()) return note("no log lines");
    print(text);
  });
}

}  // namespace

void add_job_logs(CLI::App& job, Session& session) {
  CLI::App& command = *job.add_subcommand("logs", "Show a job's log lines, oldest first");
  const auto options = std::make_shared<Logs>();
  command.add_option("ID", options->id, "Job id")->required();
  command.add_option("--attempt", options->attempt, "Only lines of this attempt");
  command.footer("Examples:\n  millrace job logs 019cb0b7-3f5c-737a-8def-0123456789ab --attempt 2");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
