package dev.millrace;

/** The attempt has failed in a way that no retry can cure: the job is dead. */
public final class NonRetryable extends OutcomeException {
  private static final long serialVersionUID = 1;

  /**
   * A failure for good.
   *
   * @param message why
   */
  public NonRetryable(String message) {
    this(message, null);
  }

  /**
   * A failure for good, with its cause.
   *
   * @param message why
   * @param cause the error behind it; its stack is kept with the job
   */
  public NonRetryable(String message, Throwable cause) {
    super(message, cause);
  }

  @Override
  Outcome outcome() {
    return new Outcome.Failed(Outcome.Failure.of(this), false, null);
  }
}
