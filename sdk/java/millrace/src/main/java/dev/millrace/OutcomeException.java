package dev.millrace;

/** Thrown by a handler to end its attempt other than by an ordinary failure. */
public abstract sealed class OutcomeException extends RuntimeException
    permits NonRetryable, RetryAfter, Snooze, Cancel {
  private static final long serialVersionUID = 1;

  OutcomeException(String message, Throwable cause) {
    super(message, cause);
  }

  abstract Outcome outcome();
}
