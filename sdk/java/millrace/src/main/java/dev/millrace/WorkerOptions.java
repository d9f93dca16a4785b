package dev.millrace;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;

/** How a worker works. For one thread, before the worker is made. */
public final class WorkerOptions {
  private static final int MAX_CONCURRENCY = 100_000;

  List<String> queues = List.of("default");
  int concurrency = 10;
  Duration lease;
  Duration pollWait = Duration.ofSeconds(10);
  Duration grace = Duration.ofSeconds(25);
  String id;
  Map<String, String> labels = Map.of();
  Executor executor;

  WorkerOptions() {}

  /**
   * Where it takes its jobs from, in order of preference.
   *
   * @param queues 1 to 100 names; {@code default} unless they are set
   * @return these options
   */
  public WorkerOptions queues(String... queues) {
    return queues(List.of(queues));
  }

  /**
   * Where it takes its jobs from, in order of preference.
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
   * How many handlers run at a time. The worker never holds more jobs than that.
   *
   * @param handlers 10 unless it is set
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
   * The length of the leases that it asks for.
   *
   * @param lease from a second to a day; the job's or the queue's unless it is set
   * @return these options
   */
  public WorkerOptions lease(Duration lease) {
    this.lease = lease;
    return this;
  }

  /**
   * How long a claim waits at the server for a job.
   *
   * @param wait at most a minute; 10 seconds unless it is set
   * @return these options
   */
  public WorkerOptions pollWait(Duration wait) {
    this.pollWait = wait;
    return this;
  }

  /**
   * How long running handlers have after a stop before they are told to end.
   *
   * @param grace 25 seconds unless it is set
   * @return these options
   */
  public WorkerOptions grace(Duration grace) {
    this.grace = grace;
    return this;
  }

  /**
   * The worker's name, by which the server lists it.
   *
   * @param id 1 to 128 characters of {@code A-Za-z0-9._:/-}; made of the host, the process id and a
   *     random part unless it is set
   * @return these options
   */
  public WorkerOptions id(String id) {
    this.id = id;
    return this;
  }

  /**
   * What else the server's list shows of the worker.
   *
   * @param labels names and values
   * @return these options
   */
  public WorkerOptions labels(Map<String, String> labels) {
    this.labels = Map.copyOf(labels);
    return this;
  }

  /**
   * Where handlers run. Each gets one task at a time, so as many as the concurrency must be able to
   * run at once; a task that waits holds a lease.
   *
   * @param executor virtual threads where the JVM has them, else a pool of the worker's own, unless
   *     it is set
   * @return these options
   */
  public WorkerOptions executor(Executor executor) {
    this.executor = executor;
    return this;
  }
}
