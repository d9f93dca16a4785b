// millrace queue delete: deletes an unused queue.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/exit_code.h"
#include "cli/operation/watch.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::minutes kDeleteWithin{10};  // it may have millions of jobs

struct Delete {
  std::string name;
  bool force = false;
  bool yes = false;
};

void run(const Delete& options, Session& session) {
  if (session.refuse_dashes()) return;
  const std::string question = fmt::format("Delete queue {} with its settings{} for good?",
                                           options.name, options.force ? " and all its jobs" : "");
  if (!is_confirmed(session, options.yes, question)) return;
  session.with_client([&](sdk::Client& client) {
    auto deleted = client.call({.method = "DELETE",
                                .path = "/v1/queues/" + sdk::url_encode(options.name) +
                                        (options.force ? "?force=true" : ""),
                                .timeout = kDeleteWithin});
    if (!deleted && deleted.error().code == "invalid_state" && !options.force) {
      return session.fail(
          kConflict,
          fmt::format("queue {} still has jobs; use --force to delete them too", options.name));
    }
    if (!deleted) return session.fail(deleted.error());
    // There were too many jobs for one call.
    if (deleted->status == 202) return watch_operation(client, session, std::move(deleted->body));
    if (!session.json()) print_line(fmt::format("{}  deleted", printable(options.name)));
  });
}

}  // namespace

void add_queue_delete(CLI::App& queue, Session& session) {
  CLI::App& command = *queue.add_subcommand("delete", "Delete a queue that has no jobs");
  const auto options = std::make_shared<Delete>();
  command.add_option("NAME", options->name, "Name of the queue")->required();
  command.add_flag("--force", options->force, "Delete the jobs of the queue too, unless some run");
  add_yes(command, options->yes);
  command.footer(
      "The next submission to the queue creates it again, with default settings.\n"
      "\n"
      "Examples:\n"
      "  millrace queue delete emial\n"
      "  millrace queue delete trial --force --yes");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
