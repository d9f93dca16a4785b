// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * A queue as the server shows it.
 *
 * @param name the queue's name
 * @param paused whether the server hands out none of its jobs
 * @param pauseReason why it is paused; null if it is not, or no reason was given
 * @param counts the numbers of its jobs, by state
 * @param oldestReadyAge how long the oldest ready job has been due; null if none is ready
 * @param rates its rates over the last 60 s
 * @param settings all its settings, with their defaults
 * @param version rises with every change of the settings, pause or resume
 * @param blockedBy The gates that hold back ready jobs of the queue, most jobs first; at most 20.
 *     Only in the answer to GET of one queue. The keys of a limit count together; {@code key} is
 *     present if only one is closed. {@code more} says that the server looked only at a part of the
 *     jobs.
 */
public record Queue(
    String name,
    boolean paused,
    String pauseReason,
    Counts counts,
    Duration oldestReadyAge,
    Rates rates,
    Settings settings,
    long version,
    List<Blocker> blockedBy) {
  /**
   * The numbers of jobs by state.
   *
   * @param scheduled wait for their time
   * @param ready wait for a worker
   * @param running have a lease
   * @param retrying wait for their next attempt
   * @param blocked wait for other jobs
   * @param succeeded have succeeded, and are kept
   * @param dead have failed for good, and are kept
   * @param cancelled were cancelled, and are kept
   * @param expired did not start in time, and are kept
   */
  public record Counts(
      long scheduled,
      long ready,
      long running,
      long retrying,
      long blocked,
      long succeeded,
      long dead,
      long cancelled,
      long expired) {}

  /**
   * Jobs per second, over the last 60 seconds.
   *
   * @param submitted new jobs a second
   * @param started attempts that began, a second
   * @param succeeded attempts that succeeded, a second
   * @param failed attempts that failed, a second
   */
  public record Rates(
      @JsonName("submitted_per_s") double submitted,
      @JsonName("started_per_s") double started,
      @JsonName("succeeded_per_s") double succeeded,
      @JsonName("failed_per_s") double failed) {}

  /**
   * The settings that are in force.
   *
   * @param limits Added to each job that is submitted to the queue. At most 8 entries.
   * @param retention how long ended jobs are kept
   * @param maxAttempts For jobs that do not set their own. Default 5. 1 to 1,000.
   * @param maxCrashes A job that loses its worker this many times is dead, {@code worker_lost}.
   *     Default the job's {@code maxAttempts}. 1 to 1,000.
   * @param retry for jobs that do not set their own
   * @param lease For jobs and claims that do not set their own. Default 30,000. 1,000 to 86,400,000
   *     ms.
   * @param maxReady the most ready jobs; beyond it submissions are 429 {@code queue_full}; null is
   *     no bound
   * @param concurrency The most jobs of the queue that run together; null is no bound. 1 to
   *     1,000,000.
   * @param rate the most jobs that start in each period; null is no bound
   * @param breaker the breaker for all attempts of the queue; null is none
   * @param fair If null, fair keys have no effect. Not together with {@code ageing}.
   * @param ageing A job gains one step of priority for each such time that it waits; null:
   *     priorities are strict. Not together with {@code fair}. A change sorts at most 1,000,000
   *     ready jobs again, and is 409 beyond that. 1,000 to 86,400,000 ms.
   * @param maxReadyPerKey The most ready jobs of one {@code fair_key}; beyond it submissions with
   *     the key are 429 {@code key_full}; null is no bound. Only with {@code fair}.
   */
  public record Settings(
      List<QueueLimit> limits,
      Retention retention,
      int maxAttempts,
      Integer maxCrashes,
      RetryPolicy retry,
      Duration lease,
      Long maxReady,
      Integer concurrency,
      Rate rate,
      Breaker breaker,
      Fair fair,
      Duration ageing,
      Long maxReadyPerKey) {}

  /**
   * How long ended jobs are kept; null means for ever.
   *
   * @param succeeded Of jobs that succeeded. Default a day. At most 10 years.
   * @param dead Of jobs that failed for good. Default 30 days. At most 10 years.
   * @param cancelled Of jobs that were cancelled. Default a day. At most 10 years.
   * @param expired Of jobs that did not start in time. Default a day. At most 10 years.
   */
  public record Retention(
      Duration succeeded, Duration dead, Duration cancelled, Duration expired) {}

  /**
   * A closed gate that holds ready jobs of a queue back.
   *
   * @param code what holds the job, or the jobs, back
   * @param limit the name of the limit, or of the type or queue that has the gate
   * @param limitKind whose gate it is
   * @param key the key of the limit, if only that is closed
   * @param worker the worker that runs the job
   * @param reason the reason of a pause
   * @param inUse how many slots are taken
   * @param concurrency how many slots there are
   * @param have For a share: the slots that the job's shard may use, or the burst if the limit has
   *     no concurrency. Other shards have the rest.
   * @param wantedSince for a share: since when the shard has wanted more
   * @param waitsFor the job that comes first
   * @param holders up to five jobs that hold it
   * @param waiting in {@code blocked_by} of a queue: the number of its ready jobs that wait for the
   *     gate
   * @param ahead the number of jobs before it, at most 1,000
   * @param more there are more than were counted
   * @param since since when it holds
   * @param until when it ends by itself
   * @param availableAt when a token comes
   */
  public record Blocker(
      String code,
      String limit,
      String limitKind,
      String key,
      String worker,
      String reason,
      Long inUse,
      Long concurrency,
      Long have,
      Instant wantedSince,
      String waitsFor,
      List<String> holders,
      Long waiting,
      Long ahead,
      boolean more,
      Instant since,
      Instant until,
      Instant availableAt) {}
}
