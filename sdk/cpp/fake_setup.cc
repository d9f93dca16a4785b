#include "fake_setup.h"

#include <fmt/format.h>

#include <vector>

#include "millrace/json.h"

namespace millrace::sdk {
namespace {

std::map<std::string, std::string> members_of(JsonView object) {
  std::map<std::string, std::string> members;
  for (const auto& [name, value] : object.members()) members[name] = value.text();
  return members;
}

// What the server adds to what was declared.
std::map<std::string, std::string> defaults_of(std::string_view kind) {
  if (kind == "limits") {
    return {{"per_key", "false"},
            {"keys", "{}"},
            {"paused", "false"},
            {"in_use", "0"},
            {"waiting", "0"}};
  }
  return {{"paused", "false"}, {"state", "\"active\""}, {"next", "[]"}, {"timezone", "\"UTC\""}};
}

Response refused(int status, std::string_view code, std::string_view detail) {
  JsonWriter json;
  json.begin_object().key("status").integer(status).key("code").string(code);
  json.key("detail").string(detail).end_object();
  return {.status = status, .body = json.take()};
}

Response missing(std::string_view kind, std::string_view name) {
  kind.remove_suffix(1);
  return refused(404, "not_found", fmt::format("there is no {} {}", kind, name));
}

void write_names(JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  json.key(key).begin_array();
  for (const std::string& name : names) json.string(name);
  json.end_array();
}

}  // namespace

std::string FakeSetup::member_of(std::string_view kind, const std::string& name,
                                 const std::string& member) const {
  const auto found = declared_.find({std::string(kind), name});
  if (found == declared_.end()) return {};
  const auto value = found->second.members.find(member);
  return value == found->second.members.end() || value->second == "null" ? "" : value->second;
}

bool FakeSetup::has_limit(std::string_view name) const {
  return declared_.contains({"limits", std::string(name)});
}

std::optional<Response> FakeSetup::answer(const Request& request, std::string_view kind,
                                          const std::string& name, std::string_view counts) {
  if (name.empty() && request.method == "GET") return list(kind);
  if (name.empty() && kind == "schedules" && request.method == "PUT") return apply(request.body);
  if (name.empty()) return std::nullopt;
  const Key key{kind, name};
  const auto found = declared_.find(key);
  if (request.method == "PUT") return put(key, members_of(JsonView(request.body)), counts);
  if (found == declared_.end()) return missing(kind, name);
  if (request.method == "GET") {
    return Response{.status = 200, .body = shown(key, found->second, counts)};
  }
  if (request.method == "PATCH") {
    Members members = found->second.members;
    for (auto& [member, value] : members_of(JsonView(request.body))) members[member] = value;
    return put(key, std::move(members), counts);
  }
  if (request.method != "DELETE") return std::nullopt;
  declared_.erase(found);
  return Response{.status = 204};
}

Response FakeSetup::put(const Key& key, Members members, std::string_view counts) {
  if (const auto named = members.find("limits"); key.first == "queues" && named != members.end()) {
    for (const JsonView limit : JsonView(named->second).elements()) {
      const auto name = limit["name"].string().value_or("");
      if (!has_limit(name)) return refused(422, "unknown_limit", kNoSuchLimit);
    }
  }
  Declared& declared = declared_[key];
  const bool is_new = declared.version == 0;
  if (is_new || declared.members != members) ++declared.version;
  declared.members = std::move(members);
  return {.status = is_new ? 201 : 200, .body = shown(key, declared, counts)};
}

Response FakeSetup::list(std::string_view kind) const {
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (const auto& [key, declared] : declared_) {
    if (key.first == kind) json.raw(shown(key, declared, "{}"));
  }
  return {.status = 200, .body = json.end_array().key("next_cursor").null().end_object().take()};
}

// A set of schedules of one owner.
Response FakeSetup::apply(std::string_view body) {
  const JsonView set(body);
  const std::string owner(set["managed_by"].text());
  const bool is_dry = set["dry_run"].boolean().value_or(false);
  std::vector<std::string> created, updated, unchanged, deleted;
  for (const auto& [name, spec] : set["schedules"].members()) {
    Members members = members_of(spec);
    members["managed_by"] = owner;
    const auto known = declared_.find({"schedules", name});
    const bool is_same = known != declared_.end() && known->second.members == members;
    (known == declared_.end() ? created : is_same ? unchanged : updated).push_back(name);
    if (!is_dry) put({"schedules", name}, std::move(members), "{}");
  }
  for (const auto& [key, declared] : declared_) {
    const bool is_own =
        key.first == "schedules" && member_of("schedules", key.second, "managed_by") == owner;
    if (is_own && !set["schedules"][key.second]) deleted.push_back(key.second);
  }
  if (!set["prune"].boolean().value_or(false)) deleted.clear();
  if (!is_dry) {
    for (const std::string& name : deleted) declared_.erase({"schedules", name});
  }
  JsonWriter json;
  json.begin_object();
  write_names(json, "created", created);
  write_names(json, "updated", updated);
  write_names(json, "unchanged", unchanged);
  write_names(json, "deleted", deleted);
  return {.status = 200, .body = json.end_object().take()};
}

std::string FakeSetup::shown(const Key& key, const Declared& declared,
                             std::string_view counts) const {
  const auto& [kind, name] = key;
  JsonWriter json;
  json.begin_object().key("name").string(name).key("version").integer(declared.version);
  if (kind == "queues") {
    json.key("paused").boolean(false).key("counts").raw(counts).key("settings").begin_object();
    for (const auto& [member, value] : declared.members) json.key(member).raw(value);
    return json.end_object().end_object().take();
  }
  Members members = declared.members;
  members.merge(defaults_of(kind));
  for (const auto& [member, value] : members) json.key(member).raw(value);
  return json.end_object().take();
}

}  // namespace millrace::sdk
