#include "api/audit.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/parameters.h"
#include "base/json_cursor.h"

namespace millrace::api {
namespace {

// The most bytes shown for the members of one side of an entry, and for one of them.
constexpr std::size_t kMostShown = 4'096;
constexpr std::size_t kMostOfOne = 2'048;
constexpr std::string_view kTooLong = "\"(too long to be shown)\"";
constexpr std::size_t kMaxFilterBytes = 512;

void take_text(const Argument& argument, std::string& out) {
  if (argument.value.empty() || argument.value.size() > kMaxFilterBytes) {
    argument.fault("must have 1 to 512 bytes");
    return;
  }
  out = argument.value;
}

constexpr Parameter<AuditFilter> kParameters[] = {
    {"actor", [](const Argument& a, AuditFilter& out) { take_text(a, out.actor); }},
    {"action", [](const Argument& a, AuditFilter& out) { take_text(a, out.action); }},
    {"object", [](const Argument& a, AuditFilter& out) { take_text(a, out.object); }},
    {"since", [](const Argument& a, AuditFilter& out) { take_time(a, out.since); }},
    {"until", [](const Argument& a, AuditFilter& out) { take_time(a, out.until); }},
    {"limit",
     [](const Argument& a, AuditFilter& out) { take_integer(a, 1, kMaxListLimit, out.limit); }},
    {"cursor", [](const Argument& a, AuditFilter& out) { take_cursor(a, out.cursor); }},
    {"fresh", [](const Argument& a, AuditFilter& out) { take_boolean(a, out.fresh); }},
};

using Members = std::vector<std::pair<std::string_view, std::string_view>>;

Members members_of(std::string_view object) {
  Members members;
  if (object.empty()) return members;
  JsonCursor cursor(object);
  if (cursor.type() != JsonType::kObject) return members;
  cursor.enter();
  for (std::string_view name; cursor.next_member(name);) members.emplace_back(name, cursor.skip());
  return members;
}

std::string_view value_in(const Members& members, std::string_view name) {
  const auto found = std::ranges::find(members, name, &Members::value_type::first);
  return found == members.end() ? std::string_view() : found->second;
}

// The members of `own` whose value differs from that in `other`.
std::string changed(const Members& own, const Members& other) {
  std::string made;
  for (const auto& [name, value] : own) {
    if (value == value_in(other, name)) continue;
    const bool fits = value.size() <= kMostOfOne && made.size() + value.size() < kMostShown - 512;
    const std::string_view shown = fits ? value : kTooLong;
    if (made.size() + name.size() + shown.size() + 8 > kMostShown) break;
    made.append(made.empty() ? "{\"" : ",\"").append(name).append("\":").append(shown);
  }
  if (!made.empty()) made.push_back('}');
  return made;
}

void object_or_null(JsonWriter& json, std::string_view name, const std::string& object) {
  json.key(name);
  object.empty() ? json.null() : json.raw(object);
}

}  // namespace

Decoded<AuditFilter> decode_audit_query(std::string_view query_string) {
  return decode_parameters<AuditFilter>(query_string, kParameters);
}

void keep_changed_members(std::string& before, std::string& after) {
  const Members old_members = members_of(before);
  const Members new_members = members_of(after);
  std::string old_left = changed(old_members, new_members);
  std::string new_left = changed(new_members, old_members);
  before = std::move(old_left);
  after = std::move(new_left);
}

void encode(JsonWriter& json, const AuditEntry& entry) {
  json.begin_object();
  json.member("id", entry.id);
  json.member("at", entry.at);
  json.key("actor");
  json.begin_object();
  json.text_or_null("token", entry.token);
  json.text_or_null("name", entry.name);
  json.text_or_null("address", entry.address);
  json.member("via", entry.via);
  json.end_object();
  json.text_or_null("request_id", entry.request_id);
  json.member("action", entry.action);
  json.key("object");
  json.begin_object();
  json.member("kind", entry.kind);
  json.member("name", entry.object);
  json.end_object();
  json.member("summary", entry.summary);
  object_or_null(json, "before", entry.before);
  object_or_null(json, "after", entry.after);
  json.text_or_null("reason", entry.reason);
  json.end_object();
}

}  // namespace millrace::api
