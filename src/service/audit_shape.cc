#include "service/audit_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/json_check.h"
#include "service/convert.h"
#include "service/limits.h"
#include "service/schedules.h"

namespace millrace::service {
namespace {

constexpr std::size_t kMostDepth = 64;
constexpr std::array<std::string_view, 4> kVia = {"http", "dashboard", "sql", "system"};

void add_pause(JsonWriter& json, bool paused, const SharedBytes& reason) {
  json.member("paused", paused);
  json.text_or_null("pause_reason", reason.view());
}

// Adds the members of the object `text` as the first members of `json`.
void add_members(JsonWriter& json, std::string_view text) {
  text.remove_prefix(1);
  text.remove_suffix(1);
  if (!text.empty()) json.raw(text);
}

std::string text_of(const core::QueueImage& image) {
  core::Queue queue;
  queue.settings = image.settings;
  std::string settings;
  JsonWriter inner(settings);
  api::encode(inner, to_api(queue, {}, {}).settings);
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  add_members(json, settings);
  add_pause(json, image.paused, image.pause_reason);
  json.end_object();
  return text;
}

std::string text_of(const core::LimitImage& image) {
  core::LimitView view;
  view.limit.settings = image.settings;
  const api::Limit limit = to_api(view);
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("concurrency", limit.bounds.concurrency);
  json.key("rate");
  api::encode(json, limit.bounds.rate);
  json.key("breaker");
  api::encode(json, limit.breaker);
  json.key("retry_rate");
  api::encode(json, limit.retry_rate);
  json.member("per_key", limit.per_key);
  json.key("keys");
  json.begin_object();
  for (const api::KeyBounds& key : limit.keys) {
    json.text_key(key.key);
    json.begin_object();
    json.member("concurrency", key.bounds.concurrency);
    json.key("rate");
    api::encode(json, key.bounds.rate);
    json.end_object();
  }
  json.end_object();
  json.key("pauses");
  json.begin_array();
  for (const core::LimitPause& pause : image.pauses) {
    json.begin_object();
    json.text_or_null("key", pause.key.view());
    json.text_or_null("reason", pause.reason.view());
    json.member("until", pause.until);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text;
}

std::string text_of(const Caller& caller, const core::ScheduleImage& image) {
  core::Schedule schedule;
  schedule.spec = image.spec;
  schedule.paused = image.paused;
  schedule.pause_reason = image.pause_reason;
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  const core::ScheduleSpec& spec = image.spec;
  json.text_or_null("cron", spec.cron.view());
  if (spec.cron.empty()) {
    json.member("every_ms", spec.every);
  } else {
    json.key("every_ms"), json.null();
  }
  json.member("timezone", spec.timezone.view());
  json.member("queue", spec.queue.view());
  if (!spec.job.empty()) {
    const ScheduleShape shape(caller, schedule);
    json.key("job");
    api::encode(json, shape.schedule().job);
  }
  if (!spec.workflow.empty()) {
    const ScheduleShape shape(caller, schedule);
    if (shape.schedule().workflow != nullptr) {
      json.key("workflow");
      api::encode(json, *shape.schedule().workflow);
    }
  }
  json.member("start_at", spec.start_at);
  json.member("end_at", spec.end_at);
  json.member("jitter_ms", spec.jitter);
  json.member("missed_after_ms", spec.missed_after);
  json.member("missed", name_of(spec.missed));
  json.member("missed_limit", static_cast<std::int64_t>(spec.missed_limit));
  json.member("overlap", name_of(spec.overlap));
  json.member("skip_dst_gap", spec.skip_dst_gap);
  json.member("twice_in_dst_overlap", spec.twice_in_dst_overlap);
  json.text_or_null("managed_by", spec.managed_by.view());
  add_pause(json, image.paused, image.pause_reason);
  json.end_object();
  return text;
}

std::string text_of(const core::JobImage& image) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("queue", image.queue.view());
  json.member("type", image.type.view());
  json.member("state", name_of(image.state));
  json.member("priority", static_cast<std::int64_t>(image.priority));
  json.member("run_at", image.run_at);
  json.member("attempt", static_cast<std::int64_t>(image.attempt));
  json.member("max_attempts", static_cast<std::int64_t>(image.max_attempts));
  json.key("tags");
  json.begin_array();
  for (const SharedBytes& tag : image.tags) json.string(tag.view());
  json.end_array();
  json.member("cancel_requested", image.cancel_requested);
  if (image.new_payload) json.member("payload", "another one");
  json.end_object();
  return text;
}

std::string text_of(const Caller& caller, const core::AuditImage& image) {
  if (image.queue != nullptr) return text_of(*image.queue);
  if (image.limit != nullptr) return text_of(*image.limit);
  if (image.schedule != nullptr) return text_of(caller, *image.schedule);
  if (image.job != nullptr) return text_of(*image.job);
  const std::string_view text = image.text.view();
  // The text was in the store: whatever another program wrote there, the answer must stay valid
  // JSON.
  const bool good = text.starts_with('{') && !check_json(text, kMostDepth, LoneSurrogates::kKept);
  return good ? std::string(text) : std::string();
}

// "ann paused queue emails"
std::string summary_of(const core::Audited& entry) {
  const std::string_view action = entry.action.view();
  std::string verb(action.substr(std::min(action.find('.') + 1, action.size())));
  for (char& c : verb) {
    if (c == '_') c = ' ';
  }
  std::string_view who = entry.actor.name.view();
  if (who.empty()) who = entry.actor.token.view();
  if (who.empty()) {
    constexpr std::array<std::string_view, 4> kWho = {"somebody", "somebody", "the database",
                                                      "the server"};
    who = kWho.at(static_cast<std::size_t>(entry.actor.via));
  }
  std::string made = fmt::format("{} {}", who, verb);
  if (entry.jobs && entry.kind.view() == "jobs") {
    made += fmt::format(" {} job{}", *entry.jobs, *entry.jobs == 1 ? "" : "s");
    if (!entry.name.empty()) made += fmt::format(" ({})", entry.name.view());
    return made;
  }
  if (entry.kind.view() != "session") {
    std::string kind(entry.kind.view());
    for (char& c : kind) {
      if (c == '_') c = ' ';
    }
    made += fmt::format(" {} {}", kind, entry.name.view());
  }
  if (entry.jobs) made += fmt::format(" ({} job{})", *entry.jobs, *entry.jobs == 1 ? "" : "s");
  return made;
}

}  // namespace

api::AuditEntry shown(const Caller& caller, engine::ShardNumber shard, const core::AuditRow& row) {
  const core::Audited& entry = row.entry;
  api::AuditEntry made;
  made.id = fmt::format("{}-{}", shard, entry.n);
  made.at = row.at;
  made.token = entry.actor.token.view();
  made.name = entry.actor.name.view();
  made.address = entry.actor.address.view();
  made.via = kVia.at(static_cast<std::size_t>(entry.actor.via));
  made.request_id = entry.actor.request.view();
  made.action = entry.action.view();
  made.kind = entry.kind.view();
  made.object = entry.name.view();
  made.summary = summary_of(entry);
  made.reason = entry.reason.view();
  made.before = text_of(caller, entry.before);
  made.after = text_of(caller, entry.after);
  api::keep_changed_members(made.before, made.after);
  if (entry.jobs && made.after.empty()) made.after = fmt::format(R"({{"jobs":{}}})", *entry.jobs);
  return made;
}

}  // namespace millrace::service
