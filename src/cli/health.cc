// millrace health: tells whether the server can serve, for people and for container probes.
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

std::string check_table(const sdk::Readiness& readiness) {
  Table table({{"CHECK"}, {"OK"}, {"DETAIL"}});
  for (const auto& check : readiness.checks) {
    table.add({printable(check.name), check.is_ok ? "yes" : "NO", printable(check.detail)});
  }
  return table.text();
}

void run(Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&session](sdk::Client& client) {
    const auto readiness = client.readiness();
    if (!readiness) return session.fail(readiness.error());
    if (session.json()) {
      print_line(readiness->json);
    } else {
      print_line(printable(readiness->status));
      if (!readiness->checks.empty()) print(check_table(*readiness));
    }
    // A server that is stopping, or catching up after its start, will soon be replaced or ready.
    session.exit_code = readiness->is_ready ? kOk : kTryAgain;
  });
}

}  // namespace

void add_health(CLI::App& app, Session& session) {
  CLI::App& command =
      *app.add_subcommand("health", "Check whether the server can serve; exit code 0 if it can");
  command.footer(
      "Examples:\n"
      "  millrace health\n"
      "  HEALTHCHECK CMD [\"millrace\", \"health\"]");
  command.callback([&session] { run(session); });
}

}  // namespace millrace::cli
