#include "cli/schedule/json_members.h"

#include <algorithm>

#include "millrace/json.h"

namespace millrace::cli {

std::string text_at(JsonCursor value) {
  std::string text;
  unescape_json(value.string_body(), text);
  return text;
}

std::string text_or_raw(JsonCursor value) {
  return value.type() == JsonType::kString ? text_at(value) : std::string(value.skip());
}

JsonMembers members_of(std::string_view object) {
  JsonMembers members;
  for_each_member(JsonCursor(object), [&](const std::string& name, JsonCursor value) {
    members.emplace_back(name, value.skip());
  });
  return members;
}

std::string object_of(const JsonMembers& members) {
  sdk::JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : members) json.key(name).raw(value);
  json.end_object();
  return json.take();
}

std::optional<std::string> find_member(const JsonMembers& members, std::string_view name) {
  const auto found = std::ranges::find(members, name, &JsonMembers::value_type::first);
  if (found == members.end()) return std::nullopt;
  return found->second;
}

void set_member(JsonMembers& members, std::string_view name, std::string value) {
  const auto found = std::ranges::find(members, name, &JsonMembers::value_type::first);
  if (found == members.end()) {
    members.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

void erase_member(JsonMembers& members, std::string_view name) {
  std::erase_if(members, [&](const auto& member) { return member.first == name; });
}

}  // namespace millrace::cli
