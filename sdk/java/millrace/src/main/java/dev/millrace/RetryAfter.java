package dev.millrace;

import java.time.Duration;

/** Thrown by a handler to fail the attempt and choose the delay of the next one. */
public final class RetryAfter extends OutcomeException {
  private static final long serialVersionUID = 1;

  /** How long the job waits. */
  private final Duration delay;

  /**
   * Creates a failure with a delay.
   *
   * @param delay how long the job waits, with millisecond precision, at most 10 years
   * @param message the reason
   */
  public RetryAfter(Duration delay, String message) {
    this(delay, message, null);
  }

  /**
   * Creates a failure with a delay and a cause.
   *
   * @param delay how long the job waits, with millisecond precision, at most 10 years
   * @param message the reason
   * @param cause the cause
   */
  public RetryAfter(Duration delay, String message, Throwable cause) {
    super(message, cause);
    this.delay = delay;
  }

  @Override
  Outcome outcome() {
    return new Outcome.Failed(Outcome.Failure.of(this), true, delay);
  }
}
