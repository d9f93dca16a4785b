package dev.millrace;

import java.util.function.Supplier;

/** Completes submissions with an id and with the trace that they belong to. */
record Preparer(Supplier<TraceContext> trace) {
  NewJob prepare(NewJob job) {
    NewJob ready = job;
    if (job.get("id") == null && job.get("idempotency_key") == null) {
      ready = ready.id(Ids.make(job.queue()));
    }
    return traced(ready);
  }

  /** Returns the job with the trace that it belongs to. */
  NewJob traced(NewJob job) {
    TraceContext current = job.get("traceparent") == null ? currentTrace() : null;
    return current == null ? job : job.trace(current);
  }

  /** Returns the trace that what is submitted now belongs to; null if there is none. */
  TraceContext currentTrace() {
    TraceContext current = trace == null ? null : trace.get();
    return current == null ? Execution.currentTrace() : current;
  }
}
