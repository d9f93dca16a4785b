#include "cli/workflow/view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/time.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

std::string text_in(const sdk::JsonView& object, std::string_view member) {
  return printable(object[member].string().value_or(""));
}

std::int64_t number_in(const sdk::JsonView& object, std::string_view member) {
  return object[member].integer().value_or(0);
}

std::optional<sdk::Timestamp> time_in(const sdk::JsonView& object, std::string_view member) {
  const auto text = object[member].string();
  return text ? sdk::read_time(*text) : std::nullopt;
}

std::string dash_if_empty(std::string text) { return text.empty() ? "-" : std::move(text); }

std::int64_t ended_members(const sdk::JsonView& workflow) {
  const sdk::JsonView counts = workflow["counts"];
  return number_in(counts, "succeeded") + number_in(counts, "failed") +
         number_in(counts, "skipped");
}

std::string done_of_all(const sdk::JsonView& workflow) {
  return fmt::format("{} of {}", grouped(ended_members(workflow)),
                     grouped(number_in(workflow, "members")));
}

std::string state_and_reason(const sdk::JsonView& object) {
  const std::string state = text_in(object, "state");
  const std::string reason = text_in(object, "reason");
  return reason.empty() || reason == state ? state : fmt::format("{}: {}", state, reason);
}

// "10: 3 succeeded, 1 failed, 6 blocked"
std::string counts_text(const sdk::JsonView& workflow) {
  std::vector<std::string> parts;
  for (const std::string_view state : {"succeeded", "failed", "skipped", "active", "blocked"}) {
    const std::int64_t count = number_in(workflow["counts"], state);
    if (count > 0) parts.push_back(fmt::format("{} {}", grouped(count), state));
  }
  const std::string all = grouped(number_in(workflow, "members"));
  return parts.empty() ? all : fmt::format("{}: {}", all, fmt::join(parts, ", "));
}

std::string list_text(const sdk::JsonView& list) {
  std::vector<std::string> items;
  for (const sdk::JsonView item : list.elements()) {
    items.push_back(printable(item.string().value_or("")));
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

std::string map_text(const sdk::JsonView& object) {
  std::vector<std::string> items;
  for (const auto& [name, value] : object.members()) {
    items.push_back(printable(fmt::format("{}={}", name, value.string().value_or(""))));
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

std::string needs_text(const sdk::JsonView& needs) {
  std::vector<std::string> items;
  for (const sdk::JsonView item : needs.elements()) {
    const std::string ref = text_in(item, "ref");
    const std::string on = text_in(item, "on");
    items.push_back(on == "succeeded" ? ref : fmt::format("{} ({})", ref, on));
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

std::string name_of(const sdk::JsonView& member) {
  const auto ref = member["ref"].string();
  return ref ? *ref : fmt::format("@{}", number_in(member, "number"));
}

}  // namespace

bool workflow_has_ended(const sdk::JsonView& workflow) {
  const auto state = workflow["state"].string();
  return state == "succeeded" || state == "failed" || state == "cancelled";
}

std::string workflow_progress(const sdk::JsonView& workflow) {
  const std::int64_t failed = number_in(workflow["counts"], "failed");
  const bool is_open = workflow["open"].boolean().value_or(false);
  return fmt::format("{}{}, {} done{}", state_and_reason(workflow), is_open ? ", open" : "",
                     done_of_all(workflow),
                     failed > 0 ? fmt::format(", {} failed", grouped(failed)) : "");
}

std::string workflow_line(const sdk::JsonView& workflow) {
  return fmt::format("{}  {}", text_in(workflow, "id"), workflow_progress(workflow));
}

std::string workflow_table(const std::vector<sdk::JsonView>& workflows, sdk::Timestamp now,
                           std::size_t width) {
  Table table({{"ID"},
               {"STATE"},
               {"DONE", Align::kRight},
               {"FAILED", Align::kRight},
               {"BEGAN"},
               {.title = "QUEUE", .least = 0},
               {.title = "NAME", .least = 8}});
  for (const sdk::JsonView& one : workflows) {
    table.add({text_in(one, "id"), text_in(one, "state"), done_of_all(one),
               grouped(number_in(one["counts"], "failed")),
               relative_time(time_in(one, "created_at"), now), text_in(one, "queue"),
               dash_if_empty(text_in(one, "name"))});
  }
  return table.text(width);
}

std::string workflow_details(const sdk::JsonView& workflow, sdk::Timestamp now) {
  Properties shown;
  shown.add("id", text_in(workflow, "id"));
  shown.add("name", text_in(workflow, "name"));
  shown.add("queue", text_in(workflow, "queue"));
  shown.add("state", state_and_reason(workflow));
  shown.add("cancelled because", text_in(workflow, "cancel_reason"));
  if (workflow["open"].boolean().value_or(false)) {
    shown.add("open", "yes, it can end once `millrace workflow close` was called");
  }
  shown.add("members", counts_text(workflow));
  shown.add("if a member fails", text_in(workflow, "on_member_failed"));
  if (const auto most = workflow["max_active"].integer()) {
    shown.add("active at once", grouped(*most));
  }
  shown.add("tags", list_text(workflow["tags"]));
  shown.add("meta", map_text(workflow["meta"]));
  shown.add("result from", text_in(workflow, "result_from"));
  shown.add("created", time_for_people(time_in(workflow, "created_at"), now));
  if (const auto ended = time_in(workflow, "ended_at")) {
    shown.add("ended", time_for_people(ended, now));
  } else if (const auto timeout = time_in(workflow, "timeout_at")) {
    shown.add("times out", time_for_people(timeout, now));
  }
  if (const auto times = workflow["generation"].integer(); times && *times > 1) {
    shown.add("generation", grouped(*times));
  }
  for (const auto& [name, job] : workflow["callbacks"].members()) {
    shown.add(printable(name), printable(job.string().value_or("")));
  }
  if (workflow["redacted"].boolean().value_or(false)) {
    shown.add("redacted", "the token does not open the queues of all jobs");
  }
  return shown.text();
}

std::string member_table(const std::vector<sdk::JsonView>& members, std::size_t width) {
  Table table({{"NO", Align::kRight},
               {.title = "REF", .least = 12},
               {"STATE"},
               {"REASON"},
               {.title = "QUEUE", .least = 0},
               {"JOB"}});
  for (const sdk::JsonView& one : members) {
    table.add({std::to_string(number_in(one, "number")), dash_if_empty(text_in(one, "ref")),
               text_in(one, "state"), dash_if_empty(text_in(one, "reason")), text_in(one, "queue"),
               dash_if_empty(text_in(one, "job_id"))});
  }
  return table.text(width);
}

std::string member_details(const sdk::JsonView& member) {
  Properties shown;
  shown.add("number", std::to_string(number_in(member, "number")));
  shown.add("ref", text_in(member, "ref"));
  shown.add("state", state_and_reason(member));
  shown.add(member["needs_any"].boolean().value_or(false) ? "needs any of" : "needs",
            needs_text(member["needs"]));
  shown.add("waits for", list_text(member["waits_for"]));
  shown.add("type", text_in(member["definition"], "type"));
  shown.add("queue", text_in(member, "queue"));
  shown.add("job", text_in(member, "job_id"));
  if (const auto times = member["generation"].integer(); times && *times > 1) {
    shown.add("generation", grouped(*times));
  }
  shown.add("error", printable(member["job"]["last_error"]["message"].string().value_or("")));
  if (const sdk::JsonView result = member["result"]) {
    shown.add("result", printable(result.text()));
  }
  return shown.text();
}

std::string failures_text(const std::vector<sdk::JsonView>& members, std::size_t width) {
  Table table(
      {{.title = "FAILED", .least = 12}, {"REASON"}, {"JOB"}, {.title = "ERROR", .least = 8}});
  for (const sdk::JsonView& one : members) {
    table.add({printable(name_of(one)), text_in(one, "reason"),
               dash_if_empty(text_in(one, "job_id")),
               printable(one["job"]["last_error"]["message"].string().value_or(""))});
  }
  return table.text(width);
}

std::vector<DrawnMember> drawn_members(const std::vector<sdk::JsonView>& graph) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < graph.size(); ++i) places.emplace(name_of(graph[i]), i);
  std::vector<DrawnMember> members;
  for (const sdk::JsonView& line : graph) {
    DrawnMember& member = members.emplace_back();
    member.name = printable(name_of(line));
    member.state = text_in(line, "state");
    for (const sdk::JsonView item : line["needs"].elements()) {
      // A member that was added while the pages were read may be missing.
      const auto found = places.find(item["ref"].string().value_or(""));
      if (found == places.end()) continue;
      member.needs.push_back({found->second, item["on"].string().value_or("")});
    }
  }
  return members;
}

std::string workflow_why(const sdk::JsonView& why) {
  std::string text = printable_block(why["summary"].string().value_or("")) + "\n";
  for (const sdk::JsonView reason : why["blocking"].elements()) {
    for (const sdk::JsonView job : reason["jobs"].elements()) {
      text += fmt::format("  {}\n", printable(job.string().value_or("")));
    }
  }
  return text;
}

}  // namespace millrace::cli
