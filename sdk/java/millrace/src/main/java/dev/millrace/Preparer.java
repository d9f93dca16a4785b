package dev.millrace;

import java.util.function.Supplier;

/** Completes submissions with an id and with the trace that they belong to. */
record Preparer(Supplier<TraceContext> trace) {
  NewJob prepare(NewJob job) {
    NewJob ready = job;
    if (job.get("id") == null && job.get("idempotency_key") == null) {
      ready = ready.id(Ids.make(job.queue()));
    }
    if (job.get("traceparent") == null) {
      TraceContext current = currentTrace();
      if (current != null) ready = ready.trace(current);
    }
    return ready;
  }

  /** Returns the trace that what is submitted now belongs to; null if there is none. */
  TraceContext currentTrace() {
    TraceContext current = trace == null ? null : trace.get();
    return current == null ? Execution.currentTrace() : current;
  }
}
