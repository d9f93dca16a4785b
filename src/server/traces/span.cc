#include "server/traces/span.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json_writer.h"
#include "base/random.h"

namespace millrace::server {
namespace {

constexpr std::size_t kTraceDigits = 32;
constexpr std::size_t kSpanDigits = 16;
constexpr std::size_t kMostMessageBytes = 512;

// OTLP's numbers for span kinds and statuses.
constexpr int kInternal = 1, kProducer = 4, kConsumer = 5;
constexpr int kStatusUnset = 0, kStatusError = 2;

std::optional<std::uint64_t> parse_hex(std::string_view digits) {
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string hex(std::uint64_t number) { return fmt::format("{:016x}", number); }
std::string nanoseconds(Time time) {
  return fmt::format("{}000000", std::max<std::int64_t>(to_ms(time), 0));
}

enum class Part : std::uint64_t { kSubmit = 1, kWait = 2, kAttempt = 3, kGivenBack = 4 };

// The two halves of an id, in network order.
std::pair<std::uint64_t, std::uint64_t> halves(const JobId& id) {
  std::uint64_t high = 0, low = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    high = high << 8 | id.bytes[i];
    low = low << 8 | id.bytes[i + 8];
  }
  return {high, low};
}

// A manual retry begins a generation; the submission belongs to the first.
JobTrace of_submission(JobTrace trace) {
  trace.generation = 0;
  return trace;
}

// Cuts between characters, never within one.
std::string_view cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

// Never 0, which is not a valid id.
std::uint64_t span_id(const JobId& job, const JobTrace& trace, Part part, std::uint64_t number) {
  const auto [high, low] = halves(job);
  std::uint64_t id = mix64(high ^ mix64(low));
  id = mix64(id ^ (static_cast<std::uint64_t>(part) << 32) ^ trace.generation);
  id = mix64(id + number);
  return id == 0 ? 1 : id;
}

std::uint64_t attempt_id(const JobFact& fact, const JobTrace& trace) {
  return fact.counted ? span_id(fact.job, trace, Part::kAttempt, fact.attempt)
                      : span_id(fact.job, trace, Part::kGivenBack, fact.token);
}

void attribute(JsonWriter& json, std::string_view key, std::string_view value) {
  json.begin_object();
  json.member("key", key);
  json.key("value");
  json.begin_object();
  json.member("stringValue", value);
  json.end_object();
  json.end_object();
}

// OTLP's JSON encodes a 64-bit integer as a string.
void attribute(JsonWriter& json, std::string_view key, std::uint64_t value) {
  json.begin_object();
  json.member("key", key);
  json.key("value");
  json.begin_object();
  json.member("intValue", fmt::to_string(value));
  json.end_object();
  json.end_object();
}

struct Shape {
  std::string name;
  int kind = kInternal;
  std::uint64_t id = 0;
  std::uint64_t parent = 0;    // 0: none
  std::uint64_t previous = 0;  // the previous attempt; 0: none
};

Shape shape_of(const Span& span) {
  const JobFact& fact = span.fact;
  const std::uint64_t submit = span_id(fact.job, of_submission(span.trace), Part::kSubmit, 0);
  switch (fact.kind) {
    case JobFact::Kind::kSubmitted:
      return {fmt::format("submit {}", fact.queue.view()), kProducer, submit, span.trace.parent, 0};
    case JobFact::Kind::kStarted:
      return {fmt::format("wait {}", fact.queue.view()), kInternal,
              span_id(fact.job, span.trace, Part::kWait, fact.token), submit, 0};
    case JobFact::Kind::kEnded:
      break;
  }
  const std::uint64_t before =
      fact.attempt > 1 ? span_id(fact.job, span.trace, Part::kAttempt, fact.attempt - 1) : 0;
  return {fmt::format("process {}", fact.type.view()), kConsumer, attempt_id(fact, span.trace),
          submit, before};
}

void encode_status(JsonWriter& json, const JobFact& fact) {
  using core::AttemptOutcome;
  const bool failed =
      fact.kind == JobFact::Kind::kEnded &&
      (fact.outcome == AttemptOutcome::kFailed || fact.outcome == AttemptOutcome::kDead ||
       fact.outcome == AttemptOutcome::kLeaseExpired || fact.outcome == AttemptOutcome::kTimedOut);
  json.key("status");
  json.begin_object();
  if (failed) {
    json.member("code", kStatusError);
    const std::string_view message = fact.error_message.view();
    if (!message.empty()) json.member("message", cut(message, kMostMessageBytes));
  } else {
    json.member("code", kStatusUnset);
  }
  json.end_object();
}

void encode_attributes(JsonWriter& json, const JobFact& fact) {
  constexpr std::string_view kOperations[] = {"send", "receive", "process"};
  json.key("attributes");
  json.begin_array();
  attribute(json, "messaging.system", "millrace");
  attribute(json, "messaging.operation.type", kOperations[static_cast<std::size_t>(fact.kind)]);
  attribute(json, "messaging.destination.name", fact.queue.view());
  attribute(json, "messaging.message.id", to_string(fact.job));
  attribute(json, "millrace.job.type", fact.type.view());
  if (fact.kind != JobFact::Kind::kSubmitted) {
    attribute(json, "millrace.job.attempt", std::uint64_t{fact.attempt});
    attribute(json, "millrace.worker.id", fact.worker.view());
  }
  if (fact.kind == JobFact::Kind::kEnded) {
    attribute(json, "millrace.attempt.outcome", name_of(fact.outcome));
    if (!fact.error_type.empty()) attribute(json, "error.type", fact.error_type.view());
  }
  json.end_array();
}

void encode_span(JsonWriter& json, const Span& span) {
  const Shape shape = shape_of(span);
  const std::string trace = hex(span.trace.high) + hex(span.trace.low);
  json.begin_object();
  json.member("traceId", trace);
  json.member("spanId", hex(shape.id));
  if (shape.parent != 0) json.member("parentSpanId", hex(shape.parent));
  if (!span.trace.state.empty()) json.member("traceState", span.trace.state.view());
  json.member("name", shape.name);
  json.member("kind", shape.kind);
  json.member("startTimeUnixNano", nanoseconds(span.fact.from));
  json.member("endTimeUnixNano", nanoseconds(std::max(span.fact.from, span.fact.to)));
  encode_attributes(json, span.fact);
  if (shape.previous != 0) {
    json.key("links");
    json.begin_array();
    json.begin_object();
    json.member("traceId", trace);
    json.member("spanId", hex(shape.previous));
    json.end_object();
    json.end_array();
  }
  encode_status(json, span.fact);
  json.end_object();
}

}  // namespace

std::optional<JobTrace> parse_trace(std::string_view traceparent) {
  // "00-", the trace's id, "-", the span's id, "-", flags.
  constexpr std::size_t kTraceAt = 3;
  constexpr std::size_t kSpanAt = kTraceAt + kTraceDigits + 1;
  constexpr std::size_t kFlagsAt = kSpanAt + kSpanDigits + 1;
  if (traceparent.size() < kFlagsAt + 2) return std::nullopt;
  const auto high = parse_hex(traceparent.substr(kTraceAt, kSpanDigits));
  const auto low = parse_hex(traceparent.substr(kTraceAt + kSpanDigits, kSpanDigits));
  const auto parent = parse_hex(traceparent.substr(kSpanAt, kSpanDigits));
  const auto flags = parse_hex(traceparent.substr(kFlagsAt, 2));
  if (!high || !low || !parent || !flags) return std::nullopt;
  JobTrace trace;
  trace.high = *high;
  trace.low = *low;
  trace.parent = *parent;
  trace.sampled = (*flags & 1) != 0;
  return trace;
}

JobTrace trace_of(const core::Job& job) {
  if (job.extras != nullptr && !job.extras->traceparent.empty()) {
    if (auto trace = parse_trace(job.extras->traceparent.view())) {
      trace->state = job.extras->tracestate;
      trace->generation = job.generation;
      return *trace;
    }
  }
  const auto [high, low] = halves(job.id);
  JobTrace trace;
  trace.high = high;
  trace.low = low;
  trace.generation = job.generation;
  return trace;
}

std::string encode_spans(std::span<const Span> spans, const SpanResource& resource) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("resourceSpans");
  json.begin_array();
  json.begin_object();
  json.key("resource");
  json.begin_object();
  json.key("attributes");
  json.begin_array();
  attribute(json, "service.name", "millrace");
  attribute(json, "service.version", resource.version);
  attribute(json, "service.instance.id", resource.instance);
  attribute(json, "host.name", resource.host);
  json.end_array();
  json.end_object();
  json.key("scopeSpans");
  json.begin_array();
  json.begin_object();
  json.key("scope");
  json.begin_object();
  json.member("name", "millrace");
  json.member("version", resource.version);
  json.end_object();
  json.key("spans");
  json.begin_array();
  for (const Span& span : spans) encode_span(json, span);
  json.end_array();
  json.end_object();
  json.end_array();
  json.end_object();
  json.end_array();
  json.end_object();
  return text;
}

}  // namespace millrace::server
