#include "api/why.h"

namespace millrace::api {

void encode(JsonWriter& json, const Reason& reason) {
  const auto text = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) json.member(name, value);
  };
  const auto given = [&](std::string_view name, const auto& value) {
    if (value) json.member(name, *value);
  };
  json.begin_object();
  json.member("code", reason.code);
  text("limit", reason.limit);
  text("limit_kind", reason.limit_kind);
  text("key", reason.key);
  text("worker", reason.worker);
  text("reason", reason.reason);
  given("in_use", reason.in_use);
  given("concurrency", reason.concurrency);
  given("have", reason.have);
  given("wanted_since", reason.wanted_since);
  given("waits_for", reason.waits_for);
  if (!reason.holders.empty()) {
    json.key("holders");
    json.begin_array();
    for (const JobId& id : reason.holders) json.id(id);
    json.end_array();
  }
  given("ahead", reason.ahead);
  given("waiting", reason.waiting);
  if (reason.ahead || reason.waiting) json.member("more", reason.more);
  given("since", reason.since);
  given("until", reason.until);
  given("available_at", reason.available_at);
  given("last_seen", reason.last_seen);
  json.end_object();
}

void encode(JsonWriter& json, const Why& why) {
  json.begin_object();
  json.member("id", why.id);
  json.member("state", why.state);
  json.member("at", why.at);
  json.member("summary", why.summary);
  json.key("blocking");
  json.begin_array();
  for (const Reason& reason : why.blocking) encode(json, reason);
  json.end_array();
  json.key("notes");
  json.begin_array();
  for (const Reason& reason : why.notes) encode(json, reason);
  json.end_array();
  json.end_object();
}

}  // namespace millrace::api
