#include "cli/queue/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

// Of a queue's name in a narrow table.
constexpr std::size_t kReadableName = 12;
constexpr std::size_t kShortestName = 6;

std::string age(const sdk::Queue& queue) {
  return queue.oldest_ready_age ? format_duration_for_people(*queue.oldest_ready_age) : "-";
}

std::string pause_note(const sdk::Queue& queue) {
  if (!queue.paused) return {};
  return queue.pause_reason.empty() ? "paused" : "paused: " + printable(queue.pause_reason, 40);
}

// Shows every count in full.
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

// For a terminal of 80 columns: shortens names, never numbers.
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

std::string gate_name(std::string_view kind, std::string_view name) {
  if (kind == "queue") return "the queue's own bound";
  return fmt::format("the {} {}", kind, name);
}

std::string what_is_closed(std::string_view code, const std::string& gate, sdk::JsonView blocker) {
  const auto until =
      blocker["until"].string().or_else([&] { return blocker["available_at"].string(); });
  const auto reason = blocker["reason"].string();
  const std::string because = reason ? ": " + printable(*reason, 40) : "";
  const std::string when = until ? " until " + printable(*until) : "";
  if (code == "queue_paused") return "the queue is paused" + because;
  if (code == "type_paused" || code == "limit_paused") return gate + " is paused" + when + because;
  if (code == "order") return "earlier jobs of their order keys come first";
  if (code == "limit_full") {
    const auto bound = blocker["concurrency"].integer().value_or(0);
    if (bound == 0) return "the slots of " + gate + " are taken";
    return fmt::format("{} is full, {} of {}", gate, blocker["in_use"].integer().value_or(0),
                       bound);
  }
  if (code == "rate") return "the rate of " + gate + " is used up" + when;
  return fmt::format("{} ({}){}", gate, code, when);
}

// "10s" for a number of milliseconds; else the JSON.
std::string setting_text(std::string_view name, sdk::JsonView value) {
  const auto number = value.integer();
  if (number && name.ends_with("_ms")) return format_duration(Duration{*number});
  if (const auto text = value.string()) return printable(*text);
  return printable(value.text());
}

// Without its unit, which the text of the duration has.
std::string setting_name(std::string_view name) {
  constexpr std::string_view kUnit = "_ms";
  if (name.ends_with(kUnit)) name.remove_suffix(kUnit.size());
  return std::string(name);
}

// The settings that are set, one a line: of what is null the queue has none.
void add_settings(const sdk::Queue& queue, Properties& lines) {
  for (const auto& [name, value] : sdk::JsonView(queue.settings).members()) {
    if (value.is_null() || value.text() == "[]") continue;
    if (!value.is_object()) {
      lines.add(setting_name(name), setting_text(name, value));
      continue;
    }
    std::string parts;
    for (const auto& [part, inner] : value.members()) {
      if (inner.is_null()) continue;
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", setting_name(part),
                           setting_text(part, inner));
    }
    lines.add(setting_name(name), std::move(parts));
  }
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

std::vector<std::string> held_back(const sdk::Queue& queue) {
  std::vector<std::string> lines;
  for (const sdk::JsonView gate : sdk::JsonView(queue.json)["blocked_by"].elements()) {
    const auto text = [&](std::string_view member) {
      return printable(gate[member].string().value_or(""));
    };
    const std::string key = text("key").empty() ? "" : ", key " + text("key");
    lines.push_back(
        fmt::format("{}{} wait: {}", gate["waiting"].integer().value_or(0),
                    gate["more"].boolean().value_or(false) ? " or more" : "",
                    what_is_closed(gate["code"].string().value_or(""),
                                   gate_name(text("limit_kind"), text("limit")) + key, gate)));
  }
  return lines;
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
  for (std::string& line : held_back(queue)) lines.add("held back", std::move(line));
  add_settings(queue, lines);
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
