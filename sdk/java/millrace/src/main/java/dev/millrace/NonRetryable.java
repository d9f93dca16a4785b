package dev.millrace;

/** Thrown by a handler if no retry would help. The job is dead at once. */
public final class NonRetryable extends OutcomeException {
  private static final long serialVersionUID = 1;

  /**
   * Creates a permanent failure.
   *
   * @param message the reason
   */
  public NonRetryable(String message) {
    this(message, null);
  }

  /**
   * Creates a permanent failure with a cause.
   *
   * @param message the reason
   * @param cause the cause; its stack is kept with the job
   */
  public NonRetryable(String message, Throwable cause) {
    super(message, cause);
  }

  @Override
  Outcome outcome() {
    return new Outcome.Failed(Outcome.Failure.of(this), false, null);
  }
}
