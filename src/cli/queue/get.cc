// millrace queue get: shows all about one queue.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/queue/view.h"

namespace millrace::cli {

void add_queue_get(CLI::App& queue, Session& session) {
  CLI::App& command = *queue.add_subcommand("get", "Show a queue's counts, rates and settings");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, "Name of the queue")->required();
  command.footer(
      "Examples:\n  millrace queue get email\n  millrace queue get email -o json | jq "
      ".counts.ready");
  command.callback([name, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto found = client.queue(*name);
      if (!found) return session.fail(found.error());
      print_line(session.json() ? found->json : queue_details(*found));
    });
  });
}

}  // namespace millrace::cli
