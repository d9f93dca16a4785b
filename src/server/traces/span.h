// Spans of jobs in OpenTelemetry's model, and their encoding as OTLP in JSON. Pure.
//
// A job has one trace: its producer's, if the job came with a traceparent, else one of its own,
// whose id is the job's. Its spans: `submit` when it was accepted; under that, for each attempt,
// `wait` from when it was due to its start, and `process`. Attempts are not nested: each links to
// the one before. Ids of spans follow from the job, its generation and attempt, so that any node
// makes the same ones, whatever it remembers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/job.h"

namespace millrace::server {

// Of a job: what its spans need and events of attempts do not have.
struct JobTrace {
  std::uint64_t high = 0, low = 0;  // the trace's id
  std::uint64_t parent = 0;         // the producer's span; 0: none
  SharedBytes state{};              // tracestate
  std::uint32_t generation = 0;
  bool sampled = true;
};
// Of a valid traceparent; none: it is not one.
std::optional<JobTrace> parse_trace(std::string_view traceparent);
JobTrace trace_of(const core::Job& job);

// What happened to a job, as an event said it.
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

// Who sends the spans.
struct SpanResource {
  std::string version;
  std::string host;
  std::string instance;  // of the process
};

// The body of POST /v1/traces.
std::string encode_spans(std::span<const Span> spans, const SpanResource& resource);

}  // namespace millrace::server
