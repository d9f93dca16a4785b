// millrace queue purge: deletes a queue's jobs.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/operation/watch.h"
#include "cli/options.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::minutes kPurgeWithin{10};  // there may be millions

struct Purge {
  std::string name;
  std::vector<std::string> states;
  bool yes = false;
};

std::string question(const Purge& options) {
  const std::string what =
      options.states.empty() ? "waiting" : fmt::format("{}", fmt::join(options.states, ", "));
  return fmt::format("Delete all {} jobs of queue {} for good?", what, options.name);
}

void run(const Purge& options, Session& session) {
  if (session.refuse_dashes()) return;
  if (!is_confirmed(session, options.yes, question(options))) return;
  sdk::JsonWriter body;
  body.begin_object();
  if (!options.states.empty()) {
    body.key("states").begin_array();
    for (const std::string& state : options.states) body.string(state);
    body.end_array();
  }
  body.end_object();
  session.with_client([&](sdk::Client& client) {
    auto answer = client.call({.method = "POST",
                               .path = "/v1/queues/" + sdk::url_encode(options.name) + "/purge",
                               .body = body.take(),
                               .timeout = kPurgeWithin});
    if (!answer) return session.fail(answer.error());
    if (answer->status == 202) return watch_operation(client, session, std::move(answer->body));
    if (session.json()) return print_line(answer->body);
    const auto deleted = sdk::read_integer(answer->body, "deleted");
    print_line(fmt::format("{}  {} jobs deleted", printable(options.name), deleted.value_or(0)));
  });
}

}  // namespace

void add_queue_purge(CLI::App& queue, Session& session) {
  CLI::App& command = *queue.add_subcommand("purge", "Delete the waiting jobs of a queue");
  const auto options = std::make_shared<Purge>();
  command.add_option("NAME", options->name, "Name of the queue")->required();
  add_states(command, options->states,
             "Delete jobs in these states instead, never running; separate several with commas");
  add_yes(command, options->yes);
  command.footer(
      "Examples:\n"
      "  millrace queue purge email --yes\n"
      "  millrace queue purge email --state dead,cancelled");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
