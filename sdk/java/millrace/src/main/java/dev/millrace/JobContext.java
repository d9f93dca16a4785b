package dev.millrace;

import java.time.Duration;

/** The job that a handler works on, and what it may do with it. Safe for many threads. */
public interface JobContext {
  /**
   * The job that this thread works on.
   *
   * @return its context; null in a thread that is no handler's
   */
  static JobContext current() {
    return Execution.current();
  }

  /**
   * The job.
   *
   * @return the job, as it was claimed
   */
  ClaimedJob job();

  /**
   * The fencing token of the lease. A later lease of the job has a higher one, so another system
   * can refuse a worker that is late.
   *
   * @return the token
   */
  long token();

  /**
   * Reports how far the handler has come. It reaches the server within a second.
   *
   * @param percent from 0 to 100
   */
  default void progress(double percent) {
    progress(percent, null, null);
  }

  /**
   * Reports how far the handler has come.
   *
   * @param percent from 0 to 100
   * @param message at most 1,024 bytes
   */
  default void progress(double percent, String message) {
    progress(percent, message, null);
  }

  /**
   * Reports how far the handler has come, and what the next attempt should find again.
   *
   * @param percent from 0 to 100; may be null
   * @param message at most 1,024 bytes; may be null
   * @param checkpoint any value that the client's codec knows, 64 KiB at most with the rest; null
   *     leaves the last one as it is
   * @throws CodecException if the checkpoint has no form in JSON
   */
  void progress(Double percent, String message, Object checkpoint);

  /**
   * Adds a line to the job's log. What this thread writes to {@code java.util.logging} or to a
   * {@code System.Logger} is in the job's log anyway.
   *
   * @param level how much it matters
   * @param message at most 8 KiB; of 256 KiB an attempt the oldest lines go
   */
  void log(LogLevel level, String message);

  /**
   * Submits a job in the commit of this attempt's success, and only then: either both are there, or
   * neither.
   *
   * @param job the job, without an idempotency key
   * @return its id
   * @throws CodecException if its payload has no form in JSON
   */
  String enqueue(NewJob job);

  /**
   * An upstream wants less: nothing more passes the gate of a limit that the job names, for so
   * long. It goes with the outcome, whatever that is; a snooze tries this job again then, at no cost
   * of attempts. Of the wishes for one limit the last counts.
   *
   * @param limit the limit's name
   * @param key the job's key of the limit; null for the whole limit
   * @param time 100 ms to an hour
   */
  void slowDown(String limit, String key, Duration time);

  /**
   * The same of the whole limit.
   *
   * @param limit the limit's name
   * @param time 100 ms to an hour
   */
  default void slowDown(String limit, Duration time) {
    slowDown(limit, null, time);
  }

  /**
   * Whether and why the handler was told to end.
   *
   * @return the reason; null if it was not told
   */
  Told told();

  /**
   * Tells the handler to end, by other means than the interruption of its thread.
   *
   * @return the token
   */
  StopToken stopToken();

  /**
   * Whether the worker is stopping. The handler may go on for the grace time, or save a checkpoint
   * and end.
   *
   * @return true from the stop on
   */
  boolean isStopping();
}
