package dev.millrace;

import java.time.Duration;
import java.util.List;

/**
 * A call did not succeed. The nested classes are the refusals that callers tell apart; {@link
 * #code()} names each refusal.
 */
public class MillraceException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The stable name of the refusal. */
  private final String code;

  /** The status of the answer; 0 if there was none. */
  private final int status;

  /** Finds the request in the server's log. */
  private final String requestId;

  /** When to try again. */
  private final Duration retryAfter;

  private final transient List<Fault> errors; // null in a copy from another JVM

  /** How often the call was tried. */
  transient int tries = 1;

  /**
   * Makes the error of a problem.
   *
   * @param problem what is wrong
   * @param cause why; may be null
   */
  protected MillraceException(Problem problem, Throwable cause) {
    super(problem.message(), cause);
    code = problem.code();
    status = problem.status();
    requestId = problem.requestId();
    retryAfter = problem.retryAfter();
    errors = problem.errors();
  }

  /**
   * What is wrong.
   *
   * @param code the stable name of the refusal
   * @param status the status of the answer; 0 if there was none
   * @param message for people
   * @param errors each fault of a request that is not valid
   * @param requestId finds the request in the server's log; null if there is none
   * @param retryAfter when to try again; null if the server did not say
   */
  public record Problem(
      String code,
      int status,
      String message,
      List<Fault> errors,
      String requestId,
      Duration retryAfter) {}

  /**
   * A fault of a request.
   *
   * @param where a JSON Pointer, or the name of a parameter or header
   * @param detail what is wrong there
   */
  public record Fault(String where, String detail) {}

  // The class that fits the code.
  static MillraceException of(Problem problem, Throwable cause) {
    if (problem.status() == 503) return new Unavailable(problem, cause);
    return switch (problem.code()) {
      case "not_found" -> new NotFound(problem, cause);
      case "validation_failed" -> new ValidationFailed(problem, cause);
      case "duplicate_job" -> new DuplicateJob(problem, cause);
      case "id_mismatch" -> new IdMismatch(problem, cause);
      case "invalid_state" -> new InvalidState(problem, cause);
      case "lease_lost" -> new LeaseLost(problem, cause);
      case "version_conflict" -> new VersionConflict(problem, cause);
      case "queue_full" -> new QueueFull(problem, cause);
      case "rate_limited" -> new RateLimited(problem, cause);
      case "unauthenticated" -> new Unauthenticated(problem, cause);
      case "forbidden" -> new Forbidden(problem, cause);
      case "payload_too_large" -> new PayloadTooLarge(problem, cause);
      case "unreachable" -> new Unreachable(problem, cause);
      case "wait_timeout" -> new WaitTimeout(problem, cause);
      case "interrupted" -> new Interrupted(problem, cause);
      default -> new MillraceException(problem, cause);
    };
  }

  static MillraceException of(String code, String message, Throwable cause) {
    return of(new Problem(code, 0, message, List.of(), null, null), cause);
  }

  /**
   * The stable name of the refusal, such as {@code not_found}. {@code unreachable} is no answer,
   * {@code bad_answer} one that is not Millrace's.
   *
   * @return the code
   */
  public String code() {
    return code;
  }

  /**
   * The status of the answer.
   *
   * @return an HTTP status; 0 if there was no answer
   */
  public int status() {
    return status;
  }

  /**
   * Each fault of a request that is not valid.
   *
   * @return the faults; empty for other refusals
   */
  public List<Fault> errors() {
    return errors == null ? List.of() : errors;
  }

  /**
   * Finds the request in the server's log.
   *
   * @return the id; null if there was no answer
   */
  public String requestId() {
    return requestId;
  }

  /**
   * When to try again.
   *
   * @return how long to wait; null if the server did not say
   */
  public Duration retryAfter() {
    return retryAfter;
  }

  /** There is no such thing, or the token does not open it. */
  public static final class NotFound extends MillraceException {
    private static final long serialVersionUID = 1;

    NotFound(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The request is not valid; {@link #errors()} has each fault. */
  public static final class ValidationFailed extends MillraceException {
    private static final long serialVersionUID = 1;

    ValidationFailed(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The unique key or the id belongs to another job. */
  public static final class DuplicateJob extends MillraceException {
    private static final long serialVersionUID = 1;

    DuplicateJob(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** Another job has this id: its type, payload or other members differ. */
  public static final class IdMismatch extends MillraceException {
    private static final long serialVersionUID = 1;

    IdMismatch(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The job or queue is in a state that does not allow this. */
  public static final class InvalidState extends MillraceException {
    private static final long serialVersionUID = 1;

    InvalidState(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The lease is over, and another worker may have the job. */
  public static final class LeaseLost extends MillraceException {
    private static final long serialVersionUID = 1;

    LeaseLost(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** Somebody else has changed it since the version that was named. */
  public static final class VersionConflict extends MillraceException {
    private static final long serialVersionUID = 1;

    VersionConflict(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The queue has as many ready jobs as it may have. */
  public static final class QueueFull extends MillraceException {
    private static final long serialVersionUID = 1;

    QueueFull(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** Too many requests; {@link #retryAfter()} says when to come back. */
  public static final class RateLimited extends MillraceException {
    private static final long serialVersionUID = 1;

    RateLimited(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** There is no token, or a wrong one. */
  public static final class Unauthenticated extends MillraceException {
    private static final long serialVersionUID = 1;

    Unauthenticated(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The token lacks the scope. */
  public static final class Forbidden extends MillraceException {
    private static final long serialVersionUID = 1;

    Forbidden(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The request is larger than the server accepts. */
  public static final class PayloadTooLarge extends MillraceException {
    private static final long serialVersionUID = 1;

    PayloadTooLarge(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The server can't serve now; nothing was stored. */
  public static final class Unavailable extends MillraceException {
    private static final long serialVersionUID = 1;

    Unavailable(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** No answer: the request may or may not have been carried out. */
  public static final class Unreachable extends MillraceException {
    private static final long serialVersionUID = 1;

    Unreachable(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The job has not ended yet. */
  public static final class WaitTimeout extends MillraceException {
    private static final long serialVersionUID = 1;

    WaitTimeout(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The thread was interrupted while it waited for the answer; it still is. */
  public static final class Interrupted extends MillraceException {
    private static final long serialVersionUID = 1;

    Interrupted(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }
}
