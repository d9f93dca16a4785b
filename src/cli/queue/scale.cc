// millrace queue scale: tells how many workers a queue needs.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/limit/calls.h"
#include "cli/options.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

struct ScaleOptions {
  std::string queue;
  std::optional<sdk::Milliseconds> target_wait;
  std::optional<int> slots;
};

void scale(const ScaleOptions& options, Session& session) {
  if (session.refuse_dashes()) return;
  std::string path = "/v1/queues/" + sdk::url_encode(options.queue) + "/scale?";
  if (options.target_wait) path += fmt::format("target_wait_ms={}&", options.target_wait->count());
  if (options.slots) path += fmt::format("slots={}&", *options.slots);
  path.pop_back();
  session.with_client([&](sdk::Client& client) {
    const auto body = send(client, "GET", path);
    if (!body) return session.fail(body.error());
    if (session.json()) return print_line(*body);
    const sdk::JsonView scale(*body);
    Properties lines;
    lines.add("workers", std::to_string(scale["desired_workers"].integer().value_or(0)));
    lines.add("slots", std::to_string(scale["desired_slots"].integer().value_or(0)));
    lines.add("because", printable(scale["because"].string().value_or("")));
    print_line(lines.text());
  });
}

}  // namespace

void add_queue_scale(CLI::App& queue, Session& session) {
  CLI::App& command = *queue.add_subcommand("scale", "Say how many workers a queue needs");
  const auto options = std::make_shared<ScaleOptions>();
  command.add_option("NAME", options->queue, "Name of the queue")->required();
  add_duration(command, "--target-wait", options->target_wait,
               "How long a job may wait for its start (default: 10s)");
  command.add_option("--slots", options->slots, "Jobs that each worker runs at once (default: 10)");
  command.footer(
      "Jobs that wait at closed gates ask for no workers.\n\nExamples:\n  millrace queue scale "
      "email\n  millrace queue scale email --target-wait 1m --slots 25 -o json | jq "
      ".desired_workers");
  command.callback([options, &session] { scale(*options, session); });
}

}  // namespace millrace::cli
