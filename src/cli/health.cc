// millrace health: can the server serve? For people and for container probes.
#include "cli/commands.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr sdk::Milliseconds kTimeout{5'000};

void run(Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&session](sdk::Client& client) {
    auto answer = client.call({.path = "/readyz?verbose", .timeout = kTimeout});
    if (!answer) return session.fail(answer.error());
    print_line(session.json() ? answer->body : printable_block(answer->body));
  });
}

}  // namespace

void add_health(CLI::App& app, Session& session) {
  CLI::App& command =
      *app.add_subcommand("health", "Say whether the server can serve; exit code 0 if so");
  command.footer(
      "Examples:\n"
      "  millrace health\n"
      "  HEALTHCHECK CMD [\"millrace\", \"health\"]");
  command.callback([&session] { run(session); });
}

}  // namespace millrace::cli
