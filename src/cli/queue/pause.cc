// millrace queue pause and resume: stops and restarts claims.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/queue/view.h"

namespace millrace::cli {
namespace {

void show(const sdk::Result<sdk::Queue>& queue, std::string_view what, Session& session) {
  if (!queue) return session.fail(queue.error());
  print_line(session.json() ? queue->json : printable(queue->name) + "  " + std::string(what));
}

}  // namespace

void add_queue_pause(CLI::App& queue, Session& session) {
  CLI::App& command =
      *queue.add_subcommand("pause", "Stop handing out the jobs of a queue; submissions go on");
  struct Pause {
    std::string name;
    std::string reason;
    bool create = false;
  };
  const auto options = std::make_shared<Pause>();
  command.add_option("NAME", options->name, "Name of the queue")->required();
  command.add_option("--reason", options->reason, "Reason, which the queue shows");
  command.add_flag("--create", options->create, "Create the queue if it does not exist");
  command.footer(
      "Examples:\n"
      "  millrace queue pause email --reason 'provider is down'\n"
      "  millrace queue pause launch --create --reason 'until the first of May'");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto paused =
          client.pause_queue(options->name, options->reason, if_missing(options->create));
      if (!paused) return fail_on_queue(paused.error(), options->name, session);
      show(paused, "paused", session);
    });
  });
}

void add_queue_resume(CLI::App& queue, Session& session) {
  CLI::App& command = *queue.add_subcommand("resume", "Hand out the jobs of a paused queue again");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, "Name of the queue")->required();
  command.footer("Examples:\n  millrace queue resume email");
  command.callback([name, &session] {
    if (session.refuse_dashes()) return;
    session.with_client(
        [&](sdk::Client& client) { show(client.resume_queue(*name), "resumed", session); });
  });
}

}  // namespace millrace::cli
