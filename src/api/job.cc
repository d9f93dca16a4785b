#include "api/job.h"

#include <algorithm>

#include "api/job_decode.h"
#include "api/text.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

template <typename T>
void object_or_null(JsonWriter& json, std::string_view name, const std::optional<T>& value) {
  json.key(name);
  if (value) {
    encode(json, *value);
  } else {
    json.null();
  }
}

template <typename T>
void array_if_asked(JsonWriter& json, std::string_view name,
                    const std::optional<std::vector<T>>& items) {
  if (!items) return;
  json.key(name);
  json.begin_array();
  for (const T& item : *items) encode(json, item);
  json.end_array();
}

void encode_unique(JsonWriter& json, const std::optional<UniqueKey>& unique) {
  json.key("unique");
  if (!unique) return json.null();
  json.begin_object();
  json.member("key", std::string_view(unique->key));
  json.member("for_ms", unique->hold);
  json.member("on_conflict", name_of(unique->on_conflict));
  if (unique->max_wait) json.member("max_wait_ms", *unique->max_wait);
  json.end_object();
}

// Members that are present only if `include` names them.
void encode_included(JsonWriter& json, const Job& job) {
  if (job.payload) json.raw_member("payload", job.payload->empty() ? "null" : *job.payload);
  if (job.result) json.raw_member("result", job.result->empty() ? "null" : *job.result);
  array_if_asked(json, "attempts", job.attempts);
  array_if_asked(json, "logs", job.logs);
  array_if_asked(json, "events", job.events);
}

}  // namespace

std::string unknown_state(std::string_view name) {
  return fmt::format("unknown state {}; the states are {}", single_quoted(name),
                     fmt::join(terms::kNames<JobState>, ", "));
}

void encode(JsonWriter& json, const StringMapView& map) {
  json.begin_object();
  for (const auto& [name, value] : map) {
    json.text_key(name);
    json.string(value);
  }
  json.end_object();
}

void encode(JsonWriter& json, const Progress& progress) {
  json.begin_object();
  json.member("percent", progress.percent);
  json.text_or_null("message", progress.message);
  json.raw_member("checkpoint", progress.checkpoint.empty() ? "null" : progress.checkpoint);
  json.end_object();
}

void encode(JsonWriter& json, const JobError& error) {
  json.begin_object();
  json.member("type", error.type);
  json.member("message", error.message);
  json.text_or_null("stack", error.stack);
  json.text_or_null("fingerprint", error.fingerprint);
  json.member("attempt", error.attempt);
  json.member("at", error.at);
  if (error.redacted) json.member("redacted", true);
  json.end_object();
}

void encode(JsonWriter& json, const Attempt& attempt) {
  json.begin_object();
  json.member("n", attempt.n);
  json.member("attempt", attempt.attempt);
  json.text_or_null("worker", attempt.worker);
  json.member("started_at", attempt.started_at);
  json.member("finished_at", attempt.finished_at);
  json.member("outcome", name_of(attempt.outcome));
  object_or_null(json, "error", attempt.error);
  json.end_object();
}

void encode(JsonWriter& json, const LogLine& line) {
  json.begin_object();
  json.member("seq", line.seq);
  json.member("attempt", line.attempt);
  json.member("at", line.at);
  json.member("level", name_of(line.level));
  json.member("message", line.message);
  if (line.redacted) json.member("redacted", true);
  json.end_object();
}

std::string_view name_of(OrderOnFailure rule) {
  return rule == OrderOnFailure::kPass ? "pass" : "hold";
}

void encode(JsonWriter& json, const std::optional<Rate>& rate) {
  if (!rate) return json.null();
  json.begin_object();
  json.member("limit", std::uint64_t{rate->limit});
  json.member("per_ms", rate->per);
  if (rate->burst) json.member("burst", std::uint64_t{*rate->burst});
  json.end_object();
}

void encode(JsonWriter& json, const std::optional<BreakerRule>& breaker) {
  if (!breaker) return json.null();
  json.begin_object();
  json.member("failure_rate", breaker->failure_ppm / kPartsPerMillion);
  json.member("min_attempts", std::uint64_t{breaker->min_attempts});
  json.member("window_ms", breaker->window);
  json.member("open_ms", breaker->open);
  json.member("probes", std::uint64_t{breaker->probes});
  json.end_object();
}

void encode(JsonWriter& json, const std::vector<JobLimit>& limits) {
  json.begin_array();
  for (const JobLimit& limit : limits) {
    json.begin_object();
    json.member("name", limit.name.view());
    if (!limit.key.empty()) json.member("key", limit.key.view());
    if (limit.key_from_fair) json.member("key_from", "fair_key");
    if (limit.cost != 1) json.member("cost", std::uint64_t{limit.cost});
    json.end_object();
  }
  json.end_array();
}

void encode_schedule_member(JsonWriter& json, std::string_view name, Time scheduled_at) {
  if (name.empty()) return;
  json.key("schedule");
  json.begin_object();
  json.member("name", name);
  json.member("scheduled_at", scheduled_at);
  json.end_object();
}

void encode(JsonWriter& json, const Job& job) {
  json.begin_object();
  json.member("id", job.id);
  json.member("queue", job.queue);
  json.member("type", job.type);
  json.member("state", name_of(job.state));
  json.member("priority", job.priority);
  json.member("attempt", job.attempt);
  json.member("max_attempts", job.max_attempts);
  json.member("crashes", job.crashes);
  json.member("generation", job.generation);
  json.member("version", job.version);
  json.member("created_at", job.created_at);
  json.member("run_at", job.run_at);
  json.member("expires_at", job.expires_at);
  json.member("started_at", job.started_at);
  json.member("finished_at", job.finished_at);
  json.member("lease_expires_at", job.lease_expires_at);
  json.text_or_null("worker", job.worker);
  json.member("cancel_requested", job.cancel_requested);
  object_or_null(json, "progress", job.progress);
  object_or_null(json, "last_error", job.last_error);
  object_or_null(json, "retry", job.retry);
  json.member("lease_ms", job.lease);
  json.member("timeout_ms", job.timeout);
  encode_unique(json, job.unique);
  json.key("tags");
  json.begin_array();
  for (const std::string_view tag : job.tags) json.string(tag);
  json.end_array();
  json.key("meta");
  encode(json, job.meta);
  if (!job.limits.empty()) json.key("limits"), encode(json, job.limits);
  if (!job.order_key.empty()) {
    json.member("order_key", job.order_key);
    json.member("order_on_failure", name_of(job.order_on_failure));
  }
  if (!job.fair_key.empty()) json.member("fair_key", job.fair_key);
  if (!job.traceparent.empty()) json.member("traceparent", job.traceparent);
  encode_schedule_member(json, job.schedule, job.scheduled_at);
  if (job.workflow) encode_workflow_of_job(json, *job.workflow);
  if (job.redacted) json.member("redacted", true);
  encode_included(json, job);
  json.end_object();
}

void encode_pruned_job(JsonWriter& json, const JobId& id) {
  json.begin_object();
  json.member("id", id);
  json.member("state", "pruned");
  json.end_object();
}

void encode_job_result(JsonWriter& json, int status, const JobId& id, std::string_view state) {
  json.begin_object();
  json.member("status", status);
  json.member("id", id);
  json.member("state", state);
  json.end_object();
}

}  // namespace millrace::api
