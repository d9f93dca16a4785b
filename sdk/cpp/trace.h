// The trace context of the handler that runs on this thread, for what it submits.
#pragma once

#include <string>

#include "millrace/job.h"

namespace millrace::sdk {

struct Trace {
  std::string traceparent{};
  std::string tracestate{};
};

// Of this thread; empty outside of handlers.
const Trace& current_trace();

// The job with the running handler's trace context, unless it names one.
NewJob with_trace(NewJob job);

// The thread runs a handler as long as this lives.
class TraceScope {
 public:
  explicit TraceScope(Trace trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace outer_;
};

}  // namespace millrace::sdk
