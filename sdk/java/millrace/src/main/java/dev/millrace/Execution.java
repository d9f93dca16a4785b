package dev.millrace;

import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;

/**
 * One attempt at a job, as its handler sees it. The handler's thread runs it; the worker's thread
 * tells it to end and takes its reports.
 */
final class Execution implements JobContext {
  private static final ThreadLocal<Execution> CURRENT = new ThreadLocal<>();
  private static final int MAX_CAUSES = 16;
  private static final int MAX_MESSAGE = 1_024; // of progress, in bytes
  private static final Duration SHORTEST_SLOW_DOWN = Duration.ofMillis(100);
  private static final Duration LONGEST_SLOW_DOWN = Duration.ofHours(1);

  /** Is told when something waits to be sent. Called in any thread. */
  interface Listener {
    void reported();

    boolean isStopping();
  }

  private final ClaimedJob job;
  private final long token;
  private final ApiCodec codec;
  private final Preparer preparer;
  private final Listener listener;
  private final StopToken stop = new StopToken();
  private final LogBuffer logs = new LogBuffer();
  private final List<NewJob> enqueued = new ArrayList<>(); // guarded by itself
  private final NewMembers added = NewMembers.create(); // guarded by itself
  private final Set<String> skipped = new LinkedHashSet<>(); // guarded by added
  private final Map<String, SlowDown> wishes = new LinkedHashMap<>(); // by limit; guarded by itself

  // Guarded by this.
  private Thread thread;
  private boolean ended;
  private boolean leaseLost;
  private Throwable thrown; // by the handler
  private Report progress;
  private long progressSince;

  /**
   * A handler's request to slow a limit down.
   *
   * @param key null for the whole limit
   */
  record SlowDown(String limit, String key, Duration time) {}

  /**
   * Progress that waits to be sent.
   *
   * @param checkpoint JSON, or null
   */
  record Report(Double percent, String message, Json checkpoint) {
    /** Returns this report, completed by the members of an older one that it does not set. */
    Report over(Report older) {
      if (older == null) return this;
      return new Report(
          percent == null ? older.percent : percent,
          message == null ? older.message : message,
          checkpoint == null ? older.checkpoint : checkpoint);
    }
  }

  Execution(ClaimedJob job, long token, ApiCodec codec, Preparer preparer, Listener listener) {
    this.job = job;
    this.token = token;
    this.codec = codec;
    this.preparer = preparer;
    this.listener = listener;
  }

  static Execution current() {
    return CURRENT.get();
  }

  static TraceContext currentTrace() {
    Execution current = CURRENT.get();
    if (current == null || current.job.traceparent() == null) return null;
    return new TraceContext(current.job.traceparent(), current.job.tracestate());
  }

  /** Runs the handler in this thread. Returns null if no outcome is to be sent. */
  Outcome run(Handlers handlers) {
    synchronized (this) {
      if (stop.isStopRequested()) return concludeUnstarted();
      thread = Thread.currentThread();
    }
    CURRENT.set(this);
    Object value = null;
    Throwable thrown = null;
    try {
      value = handlers.call(this);
    } catch (Throwable error) { // an Error of one job must not end the worker
      thrown = error;
    } finally {
      CURRENT.remove();
    }
    synchronized (this) {
      ended = true;
      thread = null;
      this.thrown = thrown;
    }
    // The pool's thread will run another job.
    Thread.interrupted();
    return conclude(value, thrown);
  }

  /** Tells the handler to end. The first reason counts; a lost lease also forbids an outcome. */
  void tell(StopReason reason) {
    synchronized (this) {
      if (ended) return;
      if (reason == StopReason.LEASE_LOST) leaseLost = true;
      if (stop.isStopRequested()) return;
      stop.tell(reason);
      if (thread != null) thread.interrupt();
    }
  }

  /** Returns what the handler has thrown; null if nothing. */
  synchronized Throwable thrown() {
    return thrown;
  }

  private synchronized Outcome concludeUnstarted() {
    ended = true;
    if (leaseLost) return null;
    return switch (stop.reason()) {
      case CANCELLED -> new Outcome.Cancelled(null);
      case TIMEOUT -> timedOut(null);
      case STOPPING -> new Outcome.Released();
      case LEASE_LOST -> null;
    };
  }

  private synchronized Outcome conclude(Object value, Throwable thrown) {
    if (leaseLost) return null;
    StopReason told = stop.reason();
    if (told == StopReason.TIMEOUT) return timedOut(thrown);
    if (thrown == null) return value instanceof Outcome own ? own : new Outcome.Succeeded(value);
    if (isCancellation(thrown)) {
      if (told == StopReason.CANCELLED) return new Outcome.Cancelled(null);
      if (told == StopReason.STOPPING) return new Outcome.Released();
    }
    if (thrown instanceof OutcomeException chosen) return chosen.outcome();
    return Outcome.failed(thrown);
  }

  private static Outcome timedOut(Throwable thrown) {
    String stack = thrown == null ? null : Outcome.Failure.of(thrown).stack();
    Outcome.Failure error =
        new Outcome.Failure("timeout", "the attempt took longer than the job's timeout", stack);
    return new Outcome.Failed(error, true, null);
  }

  private static boolean isCancellation(Throwable thrown) {
    Throwable cause = thrown;
    for (int i = 0; cause != null && i < MAX_CAUSES; i++, cause = causeOf(cause)) {
      if (cause instanceof InterruptedException
          || cause instanceof InterruptedIOException
          || cause instanceof ClosedByInterruptException
          || cause instanceof CancellationException
          || cause instanceof MillraceException.Interrupted) {
        return true;
      }
    }
    return false;
  }

  private static Throwable causeOf(Throwable error) {
    try {
      return error.getCause();
    } catch (RuntimeException | Error broken) { // the application's
      return null;
    }
  }

  LogBuffer logs() {
    return logs;
  }

  /** Returns the jobs to submit on success; their payloads are JSON. */
  List<NewJob> enqueued() {
    synchronized (enqueued) {
      return List.copyOf(enqueued);
    }
  }

  /** Returns what to add to the workflow on success, and what to skip; payloads are JSON. */
  Growth growth() {
    synchronized (added) {
      return new Growth(List.copyOf(added.members()), List.copyOf(skipped));
    }
  }

  /** Returns the requests to slow down that go with the outcome, of any kind. */
  List<SlowDown> wishes() {
    synchronized (wishes) {
      return List.copyOf(wishes.values());
    }
  }

  synchronized boolean isLeaseLost() {
    return leaseLost;
  }

  /** When the oldest pending progress was reported; {@link Clock#NEVER} if there is none. */
  synchronized long progressSince() {
    return progress == null ? Clock.NEVER : progressSince;
  }

  synchronized Report takeProgress() {
    Report taken = progress;
    progress = null;
    return taken;
  }

  /** Puts back progress that did not reach the server; newer progress takes precedence. */
  synchronized void giveBack(Report unsent) {
    if (progress == null) progressSince = Clock.now();
    progress = progress == null ? unsent : progress.over(unsent);
  }

  @Override
  public ClaimedJob job() {
    return job;
  }

  @Override
  public long token() {
    return token;
  }

  @Override
  public void progress(Double percent, String message, Object checkpoint) {
    Json json = checkpoint == null ? null : Json.encoded(checkpoint, codec.payloads());
    // A report that the server refused would cost the heartbeat that carries it.
    boolean isNumber = percent != null && !percent.isNaN();
    Double within = isNumber ? Double.valueOf(Math.min(Math.max(percent, 0), 100)) : null;
    String text = Text.whole(Text.cut(message, MAX_MESSAGE));
    synchronized (this) {
      if (progress == null) progressSince = Clock.now();
      progress = new Report(within, text, json).over(progress);
    }
    listener.reported();
  }

  @Override
  public void log(LogLevel level, String message) {
    if (logs.add(new LogBuffer.Line(Instant.now(), level, message))) listener.reported();
  }

  @Override
  public String enqueue(NewJob next) {
    if (next.get("idempotency_key") != null) {
      throw new IllegalArgumentException(
          "a job that goes with an outcome takes no idempotency key");
    }
    NewJob ready = encoded(preparer.prepare(next));
    synchronized (enqueued) {
      enqueued.add(ready);
    }
    return ready.get("id");
  }

  // Encoded now: the handler gets any error, and later changes of the payload are not sent.
  private NewJob encoded(NewJob next) {
    Object payload = next.get("payload");
    return payload == null ? next : next.payload(Json.encoded(payload, codec.payloads()));
  }

  @Override
  public NewMember add(String ref, NewJob next) {
    requireMember();
    NewJob ready = encoded(preparer.traced(next));
    synchronized (added) {
      return added.add(ref, ready);
    }
  }

  @Override
  public void skip(String ref) {
    requireMember();
    synchronized (added) {
      skipped.add(ref);
    }
  }

  private void requireMember() {
    if (job.workflow() != null && job.workflow().number() != null) return;
    throw new IllegalStateException(
        "the job is no member of a workflow, so it can't change one; enqueue submits a job");
  }

  @Override
  public void slowDown(String limit, String key, Duration time) {
    if (time.compareTo(SHORTEST_SLOW_DOWN) < 0 || time.compareTo(LONGEST_SLOW_DOWN) > 0) {
      throw new IllegalArgumentException("a limit is slowed down for 100 ms to an hour");
    }
    synchronized (wishes) {
      wishes.put(limit, new SlowDown(limit, key, time));
    }
  }

  @Override
  public StopReason stopReason() {
    return stop.reason();
  }

  @Override
  public StopToken stopToken() {
    return stop;
  }

  @Override
  public boolean isStopping() {
    return listener.isStopping();
  }
}
