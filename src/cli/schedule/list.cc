// millrace schedule list: lists all schedules, by name.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/schedule/view.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr int kPageLimit = 1'000;

struct List {
  sdk::ScheduleFilter filter;
  std::optional<int> limit;
};

std::string list_json(const std::vector<sdk::Schedule>& schedules, const std::string& cursor) {
  std::string items;
  for (const sdk::Schedule& one : schedules) items += (items.empty() ? "" : ",") + one.json;
  return fmt::format(R"({{"items":[{}],"next_cursor":{}}})", items,
                     cursor.empty() ? "null" : sdk::json_string(cursor));
}

void run(List& options, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    std::vector<sdk::Schedule> all;
    do {
      const int left = options.limit ? *options.limit - static_cast<int>(all.size()) : kPageLimit;
      options.filter.limit = std::min(left, kPageLimit);
      auto page = client.schedules(options.filter);
      if (!page) return session.fail(page.error());
      std::move(page->items.begin(), page->items.end(), std::back_inserter(all));
      options.filter.cursor = std::move(page->next_cursor);
    } while (!options.filter.cursor.empty() &&
             (!options.limit || static_cast<int>(all.size()) < *options.limit));
    if (session.json()) return session.print_list(list_json(all, options.filter.cursor));
    if (all.empty()) return note("no schedule matches; `millrace schedule set` creates one");
    print(schedule_table(all, now(), output_width()));
    if (!options.filter.cursor.empty()) note(fmt::format("the first {} are shown", all.size()));
  });
}

}  // namespace

void add_schedule_list(CLI::App& schedule, Session& session) {
  CLI::App& command = *schedule.add_subcommand("list", "List schedules and their next instants");
  const auto options = std::make_shared<List>();
  command.add_option("--managed-by", options->filter.managed_by, "Only schedules of this owner")
      ->type_name("OWNER");
  command
      .add_option("-q,--queue", options->filter.queue, "Only schedules whose jobs go to this queue")
      ->type_name("QUEUE");
  command.add_option("-n,--limit", options->limit, "Number of schedules to show (default: all)")
      ->check(CLI::PositiveNumber);
  command.footer(
      "Examples:\n"
      "  millrace schedule list\n"
      "  millrace schedule list --managed-by deploy -q reports\n"
      "  millrace schedule list -o json | jq -r '.items[] | select(.state == \"broken\").name'");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
