package dev.millrace;

import java.time.Duration;

/**
 * A queue as the server shows it.
 *
 * @param name its name
 * @param paused whether the server hands out none of its jobs
 * @param pauseReason why; null if nobody said, or it is not paused
 * @param counts its jobs by state, exact
 * @param oldestReadyAge how long the oldest ready job has been due; null if none is ready
 * @param rates what happened in the last 60 seconds
 * @param settings its settings, all of them
 * @param version rises with every change of the settings, pause or resume
 */
public record Queue(
    String name,
    boolean paused,
    String pauseReason,
    Counts counts,
    Duration oldestReadyAge,
    Rates rates,
    Settings settings,
    long version) {

  /**
   * Jobs by state.
   *
   * @param scheduled wait for their time
   * @param ready wait for a worker
   * @param running are under a lease
   * @param retrying wait for their next attempt
   * @param blocked wait for other jobs
   * @param succeeded have ended well and are kept
   * @param dead have failed for good and are kept
   * @param cancelled were cancelled and are kept
   * @param expired did not start in time and are kept
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
   * Jobs a second, over the last 60 seconds.
   *
   * @param submitted new jobs
   * @param started attempts that began
   * @param succeeded attempts that ended well
   * @param failed attempts that did not
   */
  public record Rates(
      @JsonName("submitted_per_s") double submitted,
      @JsonName("started_per_s") double started,
      @JsonName("succeeded_per_s") double succeeded,
      @JsonName("failed_per_s") double failed) {}

  /**
   * The settings that are in force.
   *
   * @param maxAttempts for jobs that do not set their own
   * @param maxCrashes a job that loses its worker so often is dead; null: as often as it may be
   *     tried
   * @param retry for jobs that do not set their own
   * @param lease for jobs and claims that do not set their own
   * @param maxReady with so many ready jobs submissions are refused; null: no bound
   * @param retention how long jobs are kept that have ended
   */
  public record Settings(
      int maxAttempts,
      Integer maxCrashes,
      RetryPolicy retry,
      Duration lease,
      Long maxReady,
      Retention retention) {}

  /**
   * How long jobs are kept that have ended; null: for ever.
   *
   * @param succeeded those that ended well
   * @param dead those that failed for good
   * @param cancelled those that were cancelled
   * @param expired those that did not start in time
   */
  public record Retention(
      Duration succeeded, Duration dead, Duration cancelled, Duration expired) {}
}
