// millrace queue shares: shows the keys' shares of a queue that shares fairly.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/limit/calls.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

struct Shares {
  std::string name;
  bool waiting = false;
};

std::string share_table(const std::vector<sdk::JsonView>& keys, std::size_t width) {
  Table table({{.title = "KEY", .least = 12},
               {"WEIGHT", Align::kRight},
               {"RUNNING", Align::kRight},
               {"WAITING", Align::kRight},
               {"LAST MINUTE", Align::kRight}});
  const auto count = [](sdk::JsonView number) {
    return std::to_string(number.integer().value_or(0));
  };
  for (const sdk::JsonView key : keys) {
    const std::string name = key["key"].string().value_or("");
    table.add({name.empty() ? "(none)" : printable(name), count(key["weight"]),
               count(key["running"]), count(key["waiting"]),
               fmt::format("{:.1f} %", 100 * key["share"].number().value_or(0))});
  }
  return table.text(width);
}

}  // namespace

void add_queue_shares(CLI::App& queue, Session& session) {
  CLI::App& command =
      *queue.add_subcommand("shares", "List the fair keys of a queue with what they have and had");
  const auto options = std::make_shared<Shares>();
  command.add_option("NAME", options->name, "Name of the queue")->required();
  command.add_flag("--waiting", options->waiting, "The 100 keys for which most jobs wait");
  command.footer("Examples:\n  millrace queue shares mail\n  millrace queue shares mail --waiting");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto items =
          all_pages(client, fmt::format("/v1/queues/{}/shares{}", sdk::url_encode(options->name),
                                        options->waiting ? "?order=waiting" : ""));
      if (!items) return session.fail(items.error());
      if (session.json()) return session.print_list(on_one_page(*items));
      if (items->empty()) {
        return note("no fair key has jobs; a queue shares once its `fair` is set");
      }
      print(share_table(views(*items), output_width()));
    });
  });
}

}  // namespace millrace::cli
