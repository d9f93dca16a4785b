package dev.millrace;

import java.time.Duration;

/**
 * The outcome of an attempt. Handlers return a value or throw an exception, or return one of these
 * instead.
 */
public sealed interface Outcome {
  /**
   * The job has succeeded.
   *
   * @param result any value that the client's codec supports, or null
   */
  record Succeeded(Object result) implements Outcome {}

  /**
   * The attempt has failed. The job is retried while attempts are left.
   *
   * @param error the error
   * @param retryable false: the job is dead
   * @param delay how long the job waits; null means that its policy decides
   */
  record Failed(Failure error, boolean retryable, Duration delay) implements Outcome {}

  /**
   * The job runs again later. This costs no attempt.
   *
   * @param delay how long it waits
   */
  record Snoozed(Duration delay) implements Outcome {}

  /**
   * The job is cancelled.
   *
   * @param reason a line in the job's log; may be null
   */
  record Cancelled(String reason) implements Outcome {}

  /** The job is released and is ready in its old place. This costs no attempt. */
  record Released() implements Outcome {}

  /**
   * The error of a failed attempt.
   *
   * @param type the class of the error
   * @param message the error's message
   * @param stack the stack trace; may be null
   */
  record Failure(String type, String message, String stack) {
    private static final int MAX_STACK = 32 << 10;

    /**
     * Describes an exception, even one whose own methods throw.
     *
     * @param error the exception
     * @return its class, message and stack
     */
    public static Failure of(Throwable error) {
      String type = error.getClass().getName();
      return new Failure(
          type, Described.message(error), Text.cut(Described.stack(error), MAX_STACK));
    }
  }

  /**
   * Returns the outcome of a success.
   *
   * @param result any value that the client's codec supports, or null
   * @return the outcome
   */
  static Outcome succeeded(Object result) {
    return new Succeeded(result);
  }

  /**
   * Returns the outcome as if the handler had thrown this exception.
   *
   * @param error the exception
   * @return the outcome
   */
  static Outcome failed(Throwable error) {
    return new Failed(Failure.of(error), true, null);
  }

  /**
   * Returns a failure after which the job is dead.
   *
   * @param message the reason
   * @return the outcome
   */
  static Outcome dead(String message) {
    return new NonRetryable(message).outcome();
  }

  /**
   * Returns the outcome that runs the job again later, without costing an attempt.
   *
   * @param delay how long the job waits, with millisecond precision, at most 10 years
   * @return the outcome
   */
  static Outcome snoozed(Duration delay) {
    return new Snoozed(delay);
  }

  /**
   * Returns the outcome that cancels the job.
   *
   * @param reason a line in the job's log; may be null
   * @return the outcome
   */
  static Outcome cancelled(String reason) {
    return new Cancelled(reason);
  }
}
