#include "cli/queue_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

std::string age(const sdk::Queue& queue) {
  return queue.oldest_ready_age ? format_duration_for_people(*queue.oldest_ready_age) : "-";
}

std::string pause_note(const sdk::Queue& queue) {
  if (!queue.paused) return {};
  return queue.pause_reason.empty() ? "paused" : "paused: " + printable(queue.pause_reason, 40);
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

std::string queue_table(const std::vector<sdk::Queue>& queues) {
  Table table({{"QUEUE"},
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
               {"NOTE"}});
  for (const sdk::Queue& queue : queues) {
    const sdk::QueueCounts& counts = queue.counts;
    table.add({printable(queue.name), std::to_string(counts.ready), std::to_string(counts.running),
               std::to_string(counts.scheduled), std::to_string(counts.retrying),
               std::to_string(counts.dead), std::to_string(counts.succeeded), age(queue),
               short_number(queue.rates.submitted_per_s), short_number(queue.rates.succeeded_per_s),
               short_number(queue.rates.failed_per_s), pause_note(queue)});
  }
  return table.text();
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

}  // namespace millrace::cli
