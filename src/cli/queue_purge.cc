// millrace queue purge: delete a queue's jobs.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::minutes kPurgeWithin{10};  // of millions

struct Purge {
  std::string name;
  std::vector<std::string> states;
  bool yes = false;
};

// Asks only where a person can answer.
bool is_confirmed(const Purge& options) {
  if (options.yes || !is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)) return true;
  const std::string what =
      options.states.empty() ? "waiting" : fmt::format("{}", fmt::join(options.states, ", "));
  std::cerr << fmt::format("Delete all {} jobs of queue {} for good? [y/N] ", what,
                           printable(options.name));
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

void run(const Purge& options, Session& session) {
  if (session.refuse_dashes()) return;
  if (!is_confirmed(options)) return session.fail(kFailure, "nothing was deleted");
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
    if (session.json()) return print_line(answer->body);
    const auto deleted = sdk::read_integer(answer->body, "deleted");
    print_line(fmt::format("{}  {} jobs deleted", printable(options.name), deleted.value_or(0)));
  });
}

}  // namespace

void add_queue_purge(CLI::App& queue, Session& session) {
  CLI::App& command = *queue.add_subcommand("purge", "Delete a queue's jobs, the waiting ones");
  const auto options = std::make_shared<Purge>();
  command.add_option("NAME", options->name, "Name of the queue")->required();
  command
      .add_option("-s,--state", options->states,
                  "Those in these states instead; several with commas; never running")
      ->type_name("STATE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_flag("-y,--yes", options->yes, "Do not ask");
  command.footer(
      "Examples:\n"
      "  millrace queue purge email --yes\n"
      "  millrace queue purge email --state dead,cancelled");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
