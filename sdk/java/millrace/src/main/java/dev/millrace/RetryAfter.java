package dev.millrace;

import java.time.Duration;

/** The attempt has failed; the next one comes after a delay of the handler's choice. */
public final class RetryAfter extends OutcomeException {
  private static final long serialVersionUID = 1;

  /** How long the job waits. */
  private final Duration delay;

  /**
   * A failure with a delay.
   *
   * @param delay how long the job waits, to the millisecond, at most 10 years
   * @param message why
   */
  public RetryAfter(Duration delay, String message) {
    this(delay, message, null);
  }

  /**
   * A failure with a delay and its cause.
   *
   * @param delay how long the job waits, to the millisecond, at most 10 years
   * @param message why
   * @param cause the error behind it
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
