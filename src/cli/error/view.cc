#include "cli/error/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/time.h"
#include "base/words.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

std::string text(sdk::JsonView value) { return printable(value.string().value_or("")); }
std::int64_t number(sdk::JsonView value) { return value.integer().value_or(0); }

std::optional<sdk::Timestamp> time_of(sdk::JsonView value) {
  const auto written = value.string();
  return written ? parse_rfc3339(*written) : std::nullopt;
}

std::string waiting_of(sdk::JsonView group) {
  const std::int64_t waiting = number(group["waiting"]);
  if (waiting == 0) return "no job";
  return fmt::format("{}, {} dead", count_of(waiting, "job", "jobs"), number(group["dead"]));
}

std::string next_of(sdk::JsonView group) {
  const std::string id = text(group["id"]);
  const std::string canary = text(group["canary"]["state"]);
  const bool any_dead = number(group["dead"]) > 0;
  if (canary == "running") {
    return fmt::format("see how the canary ends: millrace error get {}", id);
  }
  if (any_dead && canary == "succeeded") {
    return fmt::format("retry the others: millrace error retry {} --all", id);
  }
  if (any_dead) {
    return fmt::format("mend the cause, then retry one as a canary: millrace error retry {}", id);
  }
  if (number(group["waiting"]) == 0 && text(group["status"]) != "resolved") {
    return fmt::format("if the cause is mended, say so: millrace error resolve {}", id);
  }
  return {};
}

std::string list_of(sdk::JsonView values) {
  std::string made;
  for (const sdk::JsonView value : values.elements()) {
    made += (made.empty() ? "" : ", ") + text(value);
  }
  return made;
}

std::string status_of(sdk::JsonView group) {
  const std::string status = text(group["status"]);
  if (const auto until = group["muted_until"].string()) {
    return fmt::format("{} until {}", status, *until);
  }
  return status;
}

std::string canary_of(sdk::JsonView canary) {
  if (!canary.is_object()) return {};
  return fmt::format("{}: job {}, retried {}", text(canary["state"]), text(canary["job"]),
                     relative_time(time_of(canary["at"]), now()));
}

}  // namespace

bool is_masked(std::string_view message) {
  constexpr std::string_view kText = "<text>";
  while (!message.empty()) {
    if (message.starts_with(kText)) {
      message.remove_prefix(kText.size());
    } else if (is_alphanumeric(message.front())) {
      return false;
    } else {
      message.remove_prefix(1);
    }
  }
  return true;
}

std::string trend_text(sdk::JsonView trend) {
  constexpr std::string_view kMarks = ".:-=+*#%@";
  std::vector<std::int64_t> hours;
  for (const sdk::JsonView hour : trend.elements()) hours.push_back(number(hour));
  const std::int64_t most = hours.empty() ? 0 : *std::ranges::max_element(hours);
  std::string made;
  for (const std::int64_t failures : hours) {
    const auto mark = failures == 0
                          ? std::size_t{0}
                          : 1 + static_cast<std::size_t>(failures - 1) * (kMarks.size() - 2) /
                                    static_cast<std::size_t>(std::max<std::int64_t>(most, 1));
    made += kMarks[mark];
  }
  return made;
}

std::string error_table(const std::vector<sdk::JsonView>& groups, const Examples& examples,
                        std::size_t width) {
  Table table({{.title = "ID"},
               {.title = "STATUS", .least = 4},
               {"WAITING", Align::kRight},
               {"TOTAL", Align::kRight},
               {"LAST"},
               {.title = "TYPE", .least = 8},
               {.title = "MESSAGE", .least = 16},
               {.title = "QUEUES", .least = 6}});
  for (const sdk::JsonView group : groups) {
    const std::string id = text(group["id"]);
    const auto example = examples.find(id);
    table.add({id, text(group["status"]),
               short_number(static_cast<double>(number(group["waiting"]))),
               short_number(static_cast<double>(number(group["total"]))),
               relative_time(time_of(group["last_seen"]), now()), text(group["error_type"]),
               example == examples.end() ? text(group["message"]) : printable(example->second),
               list_of(group["queues"])});
  }
  return table.text(width);
}

std::string error_details(sdk::JsonView group, const sdk::JobError* example) {
  Properties lines;
  lines.add("id", text(group["id"]));
  lines.add("type", text(group["error_type"]));
  lines.add("message", text(group["message"]));
  if (example != nullptr) lines.add("example", printable(example->message));
  lines.add("status", status_of(group));
  lines.add("note", text(group["note"]));
  lines.add("waiting", waiting_of(group));
  lines.add("failures", fmt::format("{} in all", number(group["total"])));
  lines.add("trend", fmt::format("{}  (24 hours)", trend_text(group["trend"])));
  lines.add("first seen", time_for_people(time_of(group["first_seen"]), now()));
  lines.add("last seen", time_for_people(time_of(group["last_seen"]), now()));
  if (time_of(group["reopened_at"])) {
    lines.add("reopened", time_for_people(time_of(group["reopened_at"]), now()));
  }
  lines.add("queues", list_of(group["queues"]));
  lines.add("types", list_of(group["types"]));
  for (const sdk::JsonView version : group["versions"].elements()) {
    lines.add("version", fmt::format("{}: {}, last {}", text(version["version"]),
                                     count_of(number(version["count"]), "failure", "failures"),
                                     relative_time(time_of(version["last_seen"]), now())));
  }
  lines.add("jobs", list_of(group["sample"]));
  lines.add("canary", canary_of(group["canary"]));
  lines.add("next", next_of(group));
  return lines.text() + (example == nullptr ? "" : stack_text(example->stack));
}

}  // namespace millrace::cli
