package dev.millrace;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;

/**
 * How an attempt ended. Handlers return a value or throw; one that prefers to return its outcome
 * returns one of these.
 */
public sealed interface Outcome {
  /**
   * The job has succeeded.
   *
   * @param result any value that the client's codec knows, or null
   */
  record Succeeded(Object result) implements Outcome {}

  /**
   * The attempt has failed. The job is tried again while attempts are left.
   *
   * @param error what went wrong
   * @param retryable false: the job is dead
   * @param delay how long the job waits; null: as its policy says
   */
  record Failed(Failure error, boolean retryable, Duration delay) implements Outcome {}

  /**
   * The job runs again later; that costs no attempt.
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

  /** The job is given back, ready and in its old place; that costs no attempt. */
  record Released() implements Outcome {}

  /**
   * What went wrong.
   *
   * @param type the class of the error
   * @param message what it says
   * @param stack where it was thrown; may be null
   */
  record Failure(String type, String message, String stack) {
    private static final int MAX_STACK = 32 << 10;

    /**
     * What an exception says.
     *
     * @param error the exception
     * @return its class, message and stack
     */
    public static Failure of(Throwable error) {
      String type = error.getClass().getName();
      String message = error.getMessage() == null ? type : error.getMessage();
      StringWriter stack = new StringWriter();
      error.printStackTrace(new PrintWriter(stack));
      String text = stack.toString();
      return new Failure(
          type, message, text.length() > MAX_STACK ? text.substring(0, MAX_STACK) : text);
    }
  }

  /**
   * Success.
   *
   * @param result any value that the client's codec knows, or null
   * @return the outcome
   */
  static Outcome succeeded(Object result) {
    return new Succeeded(result);
  }

  /**
   * Failure, as if the handler had thrown this.
   *
   * @param error the exception
   * @return the outcome
   */
  static Outcome failed(Throwable error) {
    return new Failed(Failure.of(error), true, null);
  }

  /**
   * Failure that no retry can cure.
   *
   * @param message why
   * @return the outcome
   */
  static Outcome dead(String message) {
    return new NonRetryable(message).outcome();
  }

  /**
   * Later, at no cost.
   *
   * @param delay how long the job waits, to the millisecond, at most 10 years
   * @return the outcome
   */
  static Outcome snoozed(Duration delay) {
    return new Snoozed(delay);
  }

  /**
   * No more.
   *
   * @param reason a line in the job's log; may be null
   * @return the outcome
   */
  static Outcome cancelled(String reason) {
    return new Cancelled(reason);
  }
}
