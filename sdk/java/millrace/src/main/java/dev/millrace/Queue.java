package dev.millrace;

import java.time.Duration;

/**
 * A queue as the server shows it.
 *
 * @param name its name
 * @param paused whether the server hands out none of its jobs
 * @param pauseReason why it is paused; null if it is not, or no reason was given
 * @param counts the exact numbers of its jobs by state
 * @param oldestReadyAge how long the oldest ready job has been due; null if none is ready
 * @param rates its rates over the last 60 seconds
 * @param settings all its settings
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
   * The numbers of jobs by state.
   *
   * @param scheduled wait for their time
   * @param ready wait for a worker
   * @param running are under a lease
   * @param retrying wait for their next attempt
   * @param blocked wait for other jobs
   * @param succeeded have succeeded and are kept
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
   * Jobs per second, over the last 60 seconds.
   *
   * @param submitted new jobs
   * @param started attempts that began
   * @param succeeded attempts that succeeded
   * @param failed attempts that failed
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
   * @param maxCrashes the number of lost workers after which a job is dead; null means the job's
   *     maximum number of attempts
   * @param retry for jobs that do not set their own
   * @param lease for jobs and claims that do not set their own
   * @param maxReady the number of ready jobs from which submissions are refused; null means none
   * @param retention how long ended jobs are kept
   */
  public record Settings(
      int maxAttempts,
      Integer maxCrashes,
      RetryPolicy retry,
      Duration lease,
      Long maxReady,
      Retention retention) {}

  /**
   * How long ended jobs are kept; null means for ever.
   *
   * @param succeeded for jobs that succeeded
   * @param dead for jobs that failed for good
   * @param cancelled for jobs that were cancelled
   * @param expired for jobs that did not start in time
   */
  public record Retention(
      Duration succeeded, Duration dead, Duration cancelled, Duration expired) {}
}
