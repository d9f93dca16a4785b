// millrace queue list: lists all queues with their counts.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/queue/view.h"

namespace millrace::cli {

void add_queue_list(CLI::App& queue, Session& session) {
  CLI::App& command = *queue.add_subcommand("list", "List queues with their counts and rates");
  command.footer("Examples:\n  millrace queue list\n  millrace queue list -o json");
  command.callback([&session] {
    if (session.refuse_dashes()) return;
    session.with_client([&session](sdk::Client& client) {
      auto queues = all_queues(client);
      if (!queues) return session.fail(queues.error());
      if (session.json()) {
        return session.print_list(queue_list_json(*queues));
      }
      if (queues->empty())
        return note("there are no queues yet; the first job of a queue creates it");
      print(queue_table(*queues, output_width()));
    });
  });
}

}  // namespace millrace::cli
