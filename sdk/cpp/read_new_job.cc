#include "millrace/codec.h"

namespace millrace::sdk {
namespace {

std::string text(JsonView value) { return value.string().value_or(""); }

std::optional<int> integer(JsonView value) {
  const auto read = value.integer();
  if (!read || !std::in_range<int>(*read)) return std::nullopt;
  return static_cast<int>(*read);
}

std::optional<Milliseconds> time(JsonView value) {
  if (const auto read = value.integer()) return Milliseconds{*read};
  return std::nullopt;
}

std::optional<RetryPolicy> retry(JsonView value) {
  if (!value.is_object()) return std::nullopt;
  RetryPolicy policy{.strategy = text(value["strategy"]),
                     .base = time(value["base_ms"]),
                     .max = time(value["max_ms"]),
                     .jitter = value["jitter"].number()};
  for (const JsonView delay : value["delays_ms"].elements()) {
    policy.delays.push_back(time(delay).value_or(Milliseconds{0}));
  }
  return policy;
}

std::optional<Unique> unique(JsonView value) {
  if (!value.is_object()) return std::nullopt;
  return Unique{.key = text(value["key"]),
                .hold = time(value["for_ms"]),
                .on_conflict = text(value["on_conflict"])};
}

}  // namespace

NewJob read_new_job(JsonView json) {
  NewJob job{.type = text(json["type"]),
             .queue = text(json["queue"]),
             .priority = integer(json["priority"]),
             .run_at = read_time(text(json["run_at"])),
             .delay = time(json["delay_ms"]),
             .expires_at = read_time(text(json["expires_at"])),
             .expires_in = time(json["expires_in_ms"]),
             .max_attempts = integer(json["max_attempts"]),
             .retry = retry(json["retry"]),
             .lease = time(json["lease_ms"]),
             .timeout = time(json["timeout_ms"]),
             .unique = unique(json["unique"]),
             .order_key = text(json["order_key"]),
             .order_on_failure = text(json["order_on_failure"]),
             .fair_key = text(json["fair_key"]),
             .id = text(json["id"]),
             .idempotency_key = text(json["idempotency_key"]),
             .traceparent = text(json["traceparent"]),
             .tracestate = text(json["tracestate"])};
  if (json["payload"]) job.payload = json["payload"].text();
  for (const JsonView tag : json["tags"].elements()) job.tags.push_back(text(tag));
  for (const auto& [name, value] : json["meta"].members()) job.meta.emplace_back(name, text(value));
  for (const JsonView limit : json["limits"].elements()) {
    job.limits.push_back({text(limit["name"]), text(limit["key"]), limit["cost"].integer()});
  }
  return job;
}

}  // namespace millrace::sdk
