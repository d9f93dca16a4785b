#include "cli/push_target/view.h"

#include <fmt/format.h>

#include <vector>

#include "base/ascii.h"
#include "base/json_cursor.h"
#include "base/time.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/schedule/json_members.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr int kPageLimit = 1'000;

std::string text_of(const JsonMembers& members, std::string_view name) {
  const auto value = find_member(members, name);
  return value && *value != "null" ? text_or_raw(JsonCursor(*value)) : "";
}

std::vector<std::string> elements_of(const JsonMembers& members, std::string_view name) {
  std::vector<std::string> elements;
  const auto value = find_member(members, name);
  if (!value || !value->starts_with('[')) return elements;
  JsonCursor cursor(*value);
  cursor.enter();
  while (cursor.next_element()) elements.emplace_back(cursor.skip());
  return elements;
}

std::string names_of(const JsonMembers& members, std::string_view name) {
  std::string names;
  for (const std::string& element : elements_of(members, name)) {
    names += (names.empty() ? "" : ", ") + text_or_raw(JsonCursor(element));
  }
  return names;
}

JsonMembers object_in(const JsonMembers& members, std::string_view name) {
  const auto value = find_member(members, name);
  return value && value->starts_with('{') ? members_of(*value) : JsonMembers();
}

// "up", "paused", "open": the state that matters most to a person.
std::string state_of(const JsonMembers& target) {
  if (text_of(target, "paused") == "true") return "paused";
  const JsonMembers health = object_in(target, "health");
  if (health.empty()) return "-";
  const std::string breaker = text_of(health, "breaker");
  return breaker == "closed" ? "up" : breaker == "open" ? "failing" : "trying";
}

Duration duration_of(const JsonMembers& members, std::string_view name) {
  return Duration{sdk::JsonView(text_of(members, name)).integer().value_or(0)};
}

// A number without its fraction.
std::string whole_of(const std::string& number) { return number.substr(0, number.find('.')); }

std::string totals_of(const JsonMembers& health) {
  std::string text;
  for (const auto& [name, count] : object_in(health, "totals")) {
    if (count != "0") text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  }
  return text.empty() ? "none" : text;
}

std::string last_calls(const JsonMembers& health) {
  Table table({{"AT"}, {"JOB"}, {"OUTCOME"}, {"STATUS"}, {"TOOK", Align::kRight}, {"ERROR"}});
  for (const std::string& element : elements_of(health, "last")) {
    const JsonMembers call = members_of(element);
    const std::string status = text_of(call, "status");
    table.add({text_of(call, "at"), text_of(call, "job"), text_of(call, "outcome"),
               status.empty() ? "-" : status, text_of(call, "took_ms") + " ms",
               printable(text_of(call, "error"), 60)});
  }
  return table.empty() ? "" : "\n" + table.text();
}

std::string details(const JsonMembers& target) {
  const JsonMembers health = object_in(target, "health");
  Properties lines;
  lines.add("name", printable(text_of(target, "name")));
  lines.add("url", printable(text_of(target, "url")));
  lines.add("queues", names_of(target, "queues"));
  lines.add("types", names_of(target, "types"));
  lines.add("headers", printable(names_of(target, "header_names")));
  lines.add("signed", text_of(target, "previous_secret") == "true" ? "with two secrets"
                      : text_of(target, "secret") == "true"        ? "yes"
                                                                   : "no");
  lines.add("concurrency", text_of(target, "concurrency"));
  lines.add("timeout", format_duration(duration_of(target, "timeout_ms")));
  lines.add("state", state_of(target));
  lines.add("reason", printable(text_of(target, "pause_reason")));
  lines.add("served by", printable(text_of(target, "served_by")));
  if (health.empty()) return lines.text();
  const JsonMembers latency = object_in(health, "latency");
  lines.add("running", text_of(health, "running"));
  lines.add("calls", totals_of(health));
  const std::string p50 = text_of(latency, "p50_ms");
  if (!p50.empty()) {
    lines.add("latency", fmt::format("half within {} ms, 99 % within {} ms", whole_of(p50),
                                     whole_of(text_of(latency, "p99_ms"))));
  }
  const std::string again = text_of(health, "calls_again_in_ms");
  if (!again.empty())
    lines.add("calls again",
              "in " + format_duration_for_people(duration_of(health, "calls_again_in_ms")));
  return lines.text() + last_calls(health);
}

}  // namespace

bool is_object(const sdk::Response& answer) {
  return answer.body.starts_with('{') && sdk::is_json(answer.body);
}

void fail_on_answer(Session& session) {
  session.fail(kFailure, "the answer is no JSON object; does the URL lead to a Millrace server?");
}

std::string push_target_path(std::string_view name) {
  std::string path = "/v1/push-targets/";
  for (const char c : name) {
    path += is_unreserved(c) ? std::string(1, c)
                             : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path;
}

void show_push_target(const sdk::Result<sdk::Response>& answer, Session& session) {
  if (!answer) return session.fail(answer.error());
  if (!is_object(*answer)) return fail_on_answer(session);
  if (session.json()) return print_line(answer->body);
  print(details(members_of(answer->body)));
}

void list_push_targets(sdk::Client& client, Session& session) {
  Table table({{"NAME"},
               {"STATE"},
               {"QUEUES", Align::kLeft, 8},
               {"RUNNING", Align::kRight},
               {"URL", Align::kLeft, 12}});
  std::string cursor;
  do {
    std::string path = fmt::format("/v1/push-targets?limit={}", kPageLimit);
    if (!cursor.empty()) path += "&cursor=" + cursor;
    const auto answer = client.call({.path = path});
    if (!answer) return session.fail(answer.error());
    if (!is_object(*answer)) return fail_on_answer(session);
    if (session.json()) session.print_list(answer->body);
    const JsonMembers page = members_of(answer->body);
    for (const std::string& element : elements_of(page, "items")) {
      const JsonMembers target = members_of(element);
      const std::string running = text_of(object_in(target, "health"), "running");
      table.add({printable(text_of(target, "name")), state_of(target), names_of(target, "queues"),
                 running.empty() ? "-" : running, printable(text_of(target, "url"))});
    }
    cursor = text_of(page, "next_cursor");
  } while (!cursor.empty());
  if (session.json()) return;
  if (table.empty()) return note("there are no push targets; `millrace push-target set` makes one");
  print(table.text(output_width()));
}

}  // namespace millrace::cli
