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
      TraceContext current = trace == null ? null : trace.get();
      if (current == null) current = Execution.currentTrace();
      if (current != null) ready = ready.trace(current);
    }
    return ready;
  }
}
