#include "cli/queue_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

// Of a queue's name, where the table must be narrow.
constexpr std::size_t kReadableName = 12;
constexpr std::size_t kShortestName = 6;

std::string age(const sdk::Queue& queue) {
  return queue.oldest_ready_age ? format_duration_for_people(*queue.oldest_ready_age) : "-";
}

std::string pause_note(const sdk::Queue& queue) {
  if (!queue.paused) return {};
  return queue.pause_reason.empty() ? "paused" : "paused: " + printable(queue.pause_reason, 40);
}

// With every count in full.
Table whole_table(const std::vector<sdk::Queue>& queues) {
  Table table({{.title = "QUEUE", .least = 16},
               {"READY", Align::kRight},
               {"RUNNING", Align::kRight},
               {"SCHEDULED", Align::kRight},
               {"RETRYING", Align::kRight},
               {"DEAD", Align::kRight},
               {"SUCCEEDED", Align::kRight},
               {"OLDEST", Align::kRight},
               {"IN/S", Align::kRight},
               {"DONE/S", Align::kRight},
               {"FAILED/S", Align::kRight},
               {.title = "NOTE", .least = 10}});
  for (const sdk::Queue& queue : queues) {
    const sdk::QueueCounts& counts = queue.counts;
    table.add({printable(queue.name), std::to_string(counts.ready), std::to_string(counts.running),
               std::to_string(counts.scheduled), std::to_string(counts.retrying),
               std::to_string(counts.dead), std::to_string(counts.succeeded), age(queue),
               short_number(queue.rates.submitted_per_s), short_number(queue.rates.succeeded_per_s),
               short_number(queue.rates.failed_per_s), pause_note(queue)});
  }
  return table;
}

// For a terminal of 80 columns: the name gives way, never a number.
Table short_table(const std::vector<sdk::Queue>& queues, bool any_paused, std::size_t gap) {
  std::vector<Column> columns{{.title = "QUEUE", .least = gap > 1 ? kReadableName : kShortestName}};
  if (any_paused) columns.push_back({"STATE"});
  for (const char* title :
       {"READY", "RUN", "SCHED", "RETRY", "DEAD", "OLDEST", "IN/S", "DONE/S", "FAIL/S"}) {
    columns.push_back({title, Align::kRight});
  }
  Table table(std::move(columns), gap);
  for (const sdk::Queue& queue : queues) {
    std::vector<std::string> cells{printable(queue.name)};
    if (any_paused) cells.emplace_back(queue.paused ? "paused" : "");
    const sdk::QueueCounts& counts = queue.counts;
    for (const std::int64_t count :
         {counts.ready, counts.running, counts.scheduled, counts.retrying, counts.dead}) {
      cells.push_back(short_number(static_cast<double>(count)));
    }
    cells.push_back(age(queue));
    for (const double rate :
         {queue.rates.submitted_per_s, queue.rates.succeeded_per_s, queue.rates.failed_per_s}) {
      cells.push_back(short_number(rate));
    }
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

sdk::Result<std::vector<sdk::Queue>> all_queues(sdk::Client& client) {
  std::vector<sdk::Queue> all;
  std::string cursor;
  do {
    auto page = client.queues(cursor);
    if (!page) return std::unexpected(std::move(page.error()));
    std::move(page->items.begin(), page->items.end(), std::back_inserter(all));
    cursor = std::move(page->next_cursor);
  } while (!cursor.empty());
  return all;
}

std::string queue_table(const std::vector<sdk::Queue>& queues, std::size_t width) {
  const bool any_paused = std::ranges::any_of(queues, &sdk::Queue::paused);
  Table table = whole_table(queues);
  for (const std::size_t gap : {2, 1}) {
    if (table.least_width() <= width) break;
    table = short_table(queues, any_paused, gap);
  }
  return table.text(width);
}

std::string queue_list_json(const std::vector<sdk::Queue>& queues) {
  std::string items;
  for (const sdk::Queue& one : queues) items += (items.empty() ? "" : ",") + one.json;
  return fmt::format(R"({{"items":[{}],"next_cursor":null}})", items);
}

std::string queue_details(const sdk::Queue& queue) {
  const sdk::QueueCounts& counts = queue.counts;
  Properties lines;
  lines.add("name", printable(queue.name));
  if (queue.paused)
    lines.add("paused", queue.pause_reason.empty() ? "yes" : printable(queue.pause_reason));
  lines.add("ready", std::to_string(counts.ready));
  lines.add("running", std::to_string(counts.running));
  lines.add("scheduled", std::to_string(counts.scheduled));
  lines.add("retrying", std::to_string(counts.retrying));
  if (counts.blocked > 0) lines.add("blocked", std::to_string(counts.blocked));
  lines.add("succeeded", std::to_string(counts.succeeded));
  lines.add("dead", std::to_string(counts.dead));
  lines.add("cancelled", std::to_string(counts.cancelled));
  lines.add("expired", std::to_string(counts.expired));
  lines.add("oldest ready", age(queue));
  lines.add("submitted/s", short_number(queue.rates.submitted_per_s));
  lines.add("started/s", short_number(queue.rates.started_per_s));
  lines.add("succeeded/s", short_number(queue.rates.succeeded_per_s));
  lines.add("failed/s", short_number(queue.rates.failed_per_s));
  lines.add("settings", printable(queue.settings));
  return lines.text();
}

void fail_on_queue(const sdk::Error& error, std::string_view name, Session& session) {
  if (error.code != "not_found") return session.fail(error);
  session.fail(
      kNotFound,
      fmt::format(
          "there is no queue {}; `millrace queue list` shows the queues, and --create creates one",
          name));
}

}  // namespace millrace::cli
