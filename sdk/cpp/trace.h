// The trace context of the handler running on this thread, for jobs that it submits.
#pragma once

#include <string>

#include "millrace/job.h"

namespace millrace::sdk {

struct Trace {
  std::string traceparent{};
  std::string tracestate{};
};

// Empty outside of handlers.
const Trace& current_trace();

// The job with the running handler's trace context, unless it has its own.
NewJob with_trace(NewJob job);

// This thread runs a handler as long as this object lives.
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
