package dev.millrace;

import java.util.concurrent.CountDownLatch;

/**
 * Claims jobs from the server and runs the application's handlers on them. Independently of the
 * handlers, it extends leases, reports outcomes and tells handlers to end. Attach handlers, then
 * {@link #run} it, or {@link #start} it within a larger program. A worker runs once. Thread-safe.
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
   * @param <R> the result
   * @param type the type of the jobs
   * @param handler the handler
   * @return this
   */
  public <P, R> Worker handle(JobType<P, R> type, Handler<P, R> handler) {
    handlers.handle(type, handler);
    return this;
  }

  /**
   * Attaches a handler whose jobs have no result.
   *
   * @param <P> the payload
   * @param type the type of the jobs
   * @param handler the handler
   * @return this
   */
  public <P> Worker consume(JobType<P, ?> type, Handler.NoResult<P> handler) {
    handlers.consume(type, handler);
    return this;
  }

  /**
   * Wraps all handlers. The middleware added first is the outermost.
   *
   * @param wrapper the middleware
   * @return this
   */
  public Worker middleware(Middleware wrapper) {
    handlers.middleware(wrapper);
    return this;
  }

  /**
   * Uses a complete set of handlers instead of those attached so far.
   *
   * @param all the handlers
   * @return this
   */
  public Worker handlers(Handlers all) {
    handlers = all;
    return this;
  }

  /**
   * Returns the worker's name, under which the server lists it.
   *
   * @return the id
   */
  public String id() {
    return name.id();
  }

  /**
   * Works until the process is told to end (SIGTERM or SIGINT) or the worker is stopped. It then
   * claims no more jobs; running handlers have the grace time, which a second signal ends. All
   * outcomes are reported when this method returns; {@code main} should then return, too.
   *
   * @throws MillraceException if the server will never accept the worker, for example because of a
   *     wrong token or name
   */
  public void run() {
    try (Signals stopsThis = Signals.stop(this)) {
      start();
      await();
    }
  }

  /**
   * Starts working in separate threads, and returns at once. The JVM does not exit before the
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
   * Stops the worker gracefully and waits for its end. The worker claims no more jobs. Running
   * handlers have the grace time; then they are told {@link StopReason#STOPPING} and have one more
   * second. Jobs that still run are released. Handlers must not call this: they would wait for
   * themselves.
   *
   * @throws MillraceException if the worker had ended by itself, as for {@link #run}
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
   * Says whether the worker has been started and has not ended.
   *
   * @return true while it works or stops
   */
  public synchronized boolean isRunning() {
    return loop != null && loop.ended().getCount() > 0;
  }

  /**
   * Returns the error with which the worker has ended by itself, as {@link #run} throws it.
   *
   * @return the error; null if there is none
   */
  public synchronized MillraceException failure() {
    return loop == null ? null : loop.failure();
  }

  /**
   * Says whether the server answered the worker's last request.
   *
   * @return false while it tries to reach the server again
   */
  public synchronized boolean isServerReachable() {
    return loop == null || !loop.isServerAway();
  }

  /**
   * Waits for the end of a worker that was started. An interruption of this thread ends the grace
   * time, but not the wait.
   *
   * @throws MillraceException if the worker has ended by itself, as for {@link #run}
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
