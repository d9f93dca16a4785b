#include "trace.h"

#include <utility>

namespace millrace::sdk {
namespace {

thread_local Trace running;

}  // namespace

const Trace& current_trace() { return running; }

NewJob with_trace(NewJob job) {
  if (!job.traceparent.empty()) return job;
  job.traceparent = running.traceparent;
  job.tracestate = running.tracestate;
  return job;
}

TraceScope::TraceScope(Trace trace) : outer_(std::exchange(running, std::move(trace))) {}
TraceScope::~TraceScope() { running = std::move(outer_); }

}  // namespace millrace::sdk
