package dev.millrace;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/** The options of a worker, set before the worker is created. Not thread-safe. */
public final class WorkerOptions {
  private static final int MAX_CONCURRENCY = 100_000;

  List<String> queues = List.of("default");
  int concurrency = 10;
  Duration lease;
  Duration pollWait = Duration.ofSeconds(10);
  Duration grace = Duration.ofSeconds(25);
  String id;
  String version;
  Map<String, String> labels = Map.of();
  Executor executor;
  Consumer<MillraceException> onFailure;

  WorkerOptions() {}

  /**
   * Sets the queues that the worker claims from, in order of preference.
   *
   * @param queues 1 to 100 names; the default is {@code default}
   * @return these options
   */
  public WorkerOptions queues(String... queues) {
    return queues(List.of(queues));
  }

  /**
   * Sets the queues that the worker claims from, in order of preference.
   *
   * @param queues 1 to 100 names
   * @return these options
   */
  public WorkerOptions queues(List<String> queues) {
    if (queues.isEmpty()) throw new IllegalArgumentException("a worker needs a queue");
    this.queues = List.copyOf(queues);
    return this;
  }

  /**
   * Sets how many handlers run at a time. The worker never holds more jobs than that.
   *
   * @param handlers the number of handlers; the default is 10
   * @return these options
   */
  public WorkerOptions concurrency(int handlers) {
    if (handlers < 1 || handlers > MAX_CONCURRENCY) {
      throw new IllegalArgumentException("concurrency is from 1 to " + MAX_CONCURRENCY);
    }
    this.concurrency = handlers;
    return this;
  }

  /**
   * Sets the length of the leases that the worker asks for.
   *
   * @param lease from a second to a day; the default is the job's or the queue's
   * @return these options
   */
  public WorkerOptions lease(Duration lease) {
    this.lease = lease;
    return this;
  }

  /**
   * Sets how long a claim waits at the server for a job.
   *
   * @param wait at most a minute; the default is 10 seconds
   * @return these options
   */
  public WorkerOptions pollWait(Duration wait) {
    this.pollWait = wait;
    return this;
  }

  /**
   * Sets how long handlers may run on after a stop before they are told to end.
   *
   * @param grace the grace time; the default is 25 seconds
   * @return these options
   */
  public WorkerOptions grace(Duration grace) {
    this.grace = grace;
    return this;
  }

  /**
   * Sets the worker's name, under which the server lists it.
   *
   * @param id 1 to 128 characters of {@code A-Za-z0-9._:/-}; the default consists of the host, the
   *     process id and a random part
   * @return these options
   */
  public WorkerOptions id(String id) {
    this.id = id;
    return this;
  }

  /**
   * Sets the version of your program, which the server notes with each failed attempt and marks in
   * charts.
   *
   * @param version the version; the default is {@code MILLRACE_WORKER_VERSION}, else none
   * @return these options
   */
  public WorkerOptions version(String version) {
    this.version = version;
    return this;
  }

  /** Returns the version, else the other one; null if both are missing or empty. */
  String versionOr(String other) {
    String found = version == null || version.isEmpty() ? other : version;
    return found == null || found.isEmpty() ? null : found;
  }

  /**
   * Sets labels that the server's list shows with the worker.
   *
   * @param labels names and values
   * @return these options
   */
  public WorkerOptions labels(Map<String, String> labels) {
    this.labels = Map.copyOf(labels);
    return this;
  }

  /**
   * Sets the executor of handlers. Each handler is one task, so the executor must be able to run as
   * many tasks at once as the concurrency; a task that waits holds a lease.
   *
   * @param executor the executor; the default is virtual threads if the JVM has them, else a pool
   *     of the worker
   * @return these options
   */
  public WorkerOptions executor(Executor executor) {
    this.executor = executor;
    return this;
  }

  /**
   * Sets what is called if the worker ends by itself with an error, for example because the server
   * refuses its token. A worker that was started within a larger program would else end with a line
   * in the log only.
   *
   * @param callback gets the error, once, in the worker's last thread; {@link Worker#failure} has
   *     it too
   * @return these options
   */
  public WorkerOptions onFailure(Consumer<MillraceException> callback) {
    this.onFailure = callback;
    return this;
  }
}
