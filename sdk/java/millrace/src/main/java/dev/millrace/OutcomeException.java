package dev.millrace;

/** What a handler throws to end its attempt in another way than by an ordinary failure. */
public abstract sealed class OutcomeException extends RuntimeException
    permits NonRetryable, RetryAfter, Snooze, Cancel {
  private static final long serialVersionUID = 1;

  OutcomeException(String message, Throwable cause) {
    super(message, cause);
  }

  abstract Outcome outcome();
}
