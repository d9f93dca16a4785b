package dev.millrace;

import java.util.concurrent.CountDownLatch;

/**
 * Takes jobs from the server and runs the application's handlers on them. It extends leases,
 * reports outcomes and tells handlers to end, apart from them. Attach handlers, then {@link #run}
 * it, or {@link #start} it within a larger program. A worker runs once. Safe for many threads.
 */
public final class Worker {
  private final Transport transport;
  private final ApiCodec codec;
  private final Preparer preparer;
  private final WorkerOptions options;
  private final WorkerName name;
  private Handlers handlers = new Handlers();
  private WorkerLoop loop; // guarded by this; null before the start

  Worker(Transport transport, ApiCodec codec, Preparer preparer, WorkerOptions options) {
    this.transport = transport;
    this.codec = codec;
    this.preparer = preparer;
    this.options = options;
    name = WorkerName.of(options.id);
  }

  /**
   * Attaches a handler whose jobs have a result. The worker claims only types that have a handler.
   *
   * @param <P> the payload
   * @param type the type of the jobs
   * @param handler works on them
   * @return this
   */
  public <P> Worker handle(JobType<P> type, Handler<P> handler) {
    handlers.handle(type, handler);
    return this;
  }

  /**
   * Attaches a handler whose jobs have no result.
   *
   * @param <P> the payload
   * @param type the type of the jobs
   * @param handler works on them
   * @return this
   */
  public <P> Worker consume(JobType<P> type, Handler.NoResult<P> handler) {
    handlers.consume(type, handler);
    return this;
  }

  /**
   * Wraps all handlers. What was added first is outermost.
   *
   * @param wrapper what runs around each handler
   * @return this
   */
  public Worker middleware(Middleware wrapper) {
    handlers.middleware(wrapper);
    return this;
  }

  /**
   * Takes handlers that were put together elsewhere, instead of those attached so far.
   *
   * @param all the handlers
   * @return this
   */
  public Worker handlers(Handlers all) {
    handlers = all;
    return this;
  }

  /**
   * The worker's name, by which the server lists it.
   *
   * @return the id
   */
  public String id() {
    return name.id();
  }

  /**
   * Works until the process is told to end (SIGTERM or SIGINT), or something stops the worker. Then
   * it claims no more; running handlers have the grace time, and a second signal ends that time.
   * All outcomes are reported when this returns; {@code main} should return then, too.
   *
   * @throws MillraceException if the server will never accept the worker: a wrong token or name
   */
  public void run() {
    try (Signals stopsThis = Signals.stop(this)) {
      start();
      await();
    }
  }

  /**
   * Works from now on in threads of its own, and returns at once. The JVM does not end before the
   * worker is stopped.
   *
   * @throws IllegalStateException if it has no handler, or was started before
   */
  public synchronized void start() {
    if (loop != null) throw new IllegalStateException("a worker runs once");
    if (handlers.types().isEmpty()) throw new IllegalStateException("the worker has no handler");
    loop = new WorkerLoop(transport, codec, preparer, options, handlers, name);
    JobLogs.install();
    WorkerLoop started = loop;
    Runnable work =
        () -> {
          try {
            started.run();
          } finally {
            JobLogs.remove();
          }
        };
    new Thread(work, "millrace-worker").start();
  }

  /**
   * Stops the worker gracefully and waits for its end: no further claim; running handlers have the
   * grace time, then they are told {@link Told#STOPPING} and have a second more; what still runs is
   * given back to the server. Not for handlers, which would wait for themselves.
   *
   * @throws MillraceException if the worker had ended by itself, as {@link #run}
   */
  public void stop() {
    requestStop();
    await();
  }

  /** Begins to stop as {@link #stop} does, and returns at once. */
  public synchronized void requestStop() {
    if (loop != null) loop.requestStop();
  }

  /** Begins to stop without the grace time. */
  synchronized void endGrace() {
    if (loop != null) loop.endGrace();
  }

  /**
   * Whether the worker has been started and has not ended.
   *
   * @return true while it works or stops
   */
  public synchronized boolean isRunning() {
    return loop != null && loop.ended().getCount() > 0;
  }

  /**
   * Waits for the end of a worker that was started. An interruption of this thread ends the grace
   * time, and this goes on waiting.
   *
   * @throws MillraceException if the worker has ended by itself, as {@link #run}
   */
  public void await() {
    WorkerLoop started;
    synchronized (this) {
      started = loop;
    }
    if (started == null) return;
    CountDownLatch ended = started.ended();
    boolean interrupted = false;
    while (ended.getCount() > 0) {
      try {
        ended.await();
      } catch (InterruptedException told) {
        interrupted = true;
        started.endGrace();
      }
    }
    if (interrupted) Thread.currentThread().interrupt();
    if (started.failure() != null) throw started.failure();
  }
}
