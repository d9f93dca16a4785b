// The shapes of the contract's lines.
#include <cstdio>

#include "program.h"

namespace millrace::conformance {

void emit(std::string_view line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void emit_event(std::string_view name, const std::function<void(sdk::JsonWriter&)>& fill) {
  sdk::JsonWriter json;
  json.begin_object().key("event").string(name);
  fill(json);
  emit(json.end_object().text());
}

void write_error(sdk::JsonWriter& json, const sdk::Error& error) {
  json.begin_object();
  json.key("class").string(name_of(error.problem()));
  json.key("code").string(error.code);
  json.key("status").integer(error.status);
  json.key("message").string(error.message);
  json.key("retry_after_ms");
  if (error.retry_after) {
    json.integer(error.retry_after->count());
  } else {
    json.null();
  }
  json.end_object();
}

std::string text_of(sdk::JsonView value) { return value.string().value_or(""); }

sdk::Milliseconds ms_of(sdk::JsonView value, std::int64_t otherwise) {
  return sdk::Milliseconds{value.integer().value_or(otherwise)};
}

std::vector<std::string> texts_of(sdk::JsonView value) {
  std::vector<std::string> texts;
  if (value.string()) texts.push_back(text_of(value));
  for (const sdk::JsonView element : value.elements()) texts.push_back(text_of(element));
  return texts;
}

sdk::NewJob job_of(sdk::JsonView value) {
  const auto ms = [&value](std::string_view name) -> std::optional<sdk::Milliseconds> {
    if (const auto number = value[name].integer()) return sdk::Milliseconds{*number};
    return std::nullopt;
  };
  const auto integer = [](sdk::JsonView number) -> std::optional<int> {
    if (const auto read = number.integer()) return static_cast<int>(*read);
    return std::nullopt;
  };
  sdk::NewJob job{.type = text_of(value["type"]),
                  .queue = text_of(value["queue"]),
                  .priority = integer(value["priority"]),
                  .run_at = sdk::read_time(text_of(value["run_at"])),
                  .delay = ms("delay_ms"),
                  .expires_at = sdk::read_time(text_of(value["expires_at"])),
                  .expires_in = ms("expires_in_ms"),
                  .max_attempts = integer(value["max_attempts"]),
                  .lease = ms("lease_ms"),
                  .timeout = ms("timeout_ms"),
                  .tags = texts_of(value["tags"]),
                  .id = text_of(value["id"]),
                  .idempotency_key = text_of(value["idempotency_key"]),
                  .traceparent = text_of(value["traceparent"])};
  if (value["payload"]) job.payload = value["payload"].text();
  for (const auto& [name, text] : value["meta"].members()) {
    job.meta.emplace_back(name, text_of(text));
  }
  if (const sdk::JsonView retry = value["retry"]) {
    job.retry = sdk::RetryPolicy{.strategy = text_of(retry["strategy"]),
                                 .jitter = retry["jitter"].number()};
    if (const auto base = retry["base_ms"].integer()) job.retry->base = sdk::Milliseconds{*base};
    if (const auto max = retry["max_ms"].integer()) job.retry->max = sdk::Milliseconds{*max};
    for (const sdk::JsonView delay : retry["delays_ms"].elements()) {
      job.retry->delays.push_back(ms_of(delay, 0));
    }
  }
  if (const sdk::JsonView unique = value["unique"]) {
    job.unique =
        sdk::Unique{.key = text_of(unique["key"]), .on_conflict = text_of(unique["on_conflict"])};
    if (const auto hold = unique["for_ms"].integer()) job.unique->hold = sdk::Milliseconds{*hold};
  }
  return job;
}

}  // namespace millrace::conformance
