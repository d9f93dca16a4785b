// Spans of jobs in OpenTelemetry's model, and their encoding as OTLP in JSON. Pure functions.
//
// Each job has one trace: its producer's, if the job came with a traceparent, else one of its own
// whose id is the job's. Its spans are `submit`, when it was accepted, and below it for each
// attempt `wait`, from when the attempt was due until it started, and `process`. Attempts are not
// nested: each links to the one before. Span ids derive from the job, its generation and its
// attempt, so that any node computes the same ones without stored state.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/jobs/job.h"

namespace millrace::server {

// The data about a job that its spans need and attempt events lack.
struct JobTrace {
  std::uint64_t high = 0, low = 0;  // the trace's id
  std::uint64_t parent = 0;         // the producer's span; 0: none
  SharedBytes state{};              // tracestate
  std::uint32_t generation = 0;
  bool sampled = true;
};
// Parses a traceparent; none if it is invalid.
std::optional<JobTrace> parse_trace(std::string_view traceparent);
JobTrace trace_of(const core::Job& job);

// Something that happened to a job, as reported by an event.
struct JobFact {
  enum class Kind : std::uint8_t { kSubmitted, kStarted, kEnded };
  Kind kind{};
  JobId job;
  SharedBytes queue{};
  SharedBytes type{};
  Time from{};
  Time to{};
  std::uint32_t attempt = 0;
  std::uint64_t token = 0;  // of the attempt's lease
  bool counted = true;      // false: the attempt was given back, and its number is used again
  SharedBytes worker{};
  core::AttemptOutcome outcome{};
  bool last = false;  // the job has ended
  SharedBytes error_type{};
  SharedBytes error_message{};
};

struct Span {
  JobFact fact;
  JobTrace trace;
};

// The sender of the spans.
struct SpanResource {
  std::string version;
  std::string host;
  std::string instance;  // identifies the process
};

// The body of POST /v1/traces.
std::string encode_spans(std::span<const Span> spans, const SpanResource& resource);

}  // namespace millrace::server
