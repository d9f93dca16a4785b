package dev.millrace;

import java.time.Duration;
import java.util.List;

/**
 * Thrown if a call did not succeed. The nested classes are the refusals that callers distinguish;
 * {@link #code()} names each refusal.
 */
public class MillraceException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The stable name of the refusal. */
  private final String code;

  /** The status of the answer; 0 if there was none. */
  private final int status;

  /** Identifies the request in the server's log. */
  private final String requestId;

  /** How long to wait before trying again. */
  private final Duration retryAfter;

  private final transient List<Fault> errors; // null in a deserialized copy

  /** How often the call was tried. */
  transient int tries = 1;

  /**
   * Creates the error of a problem.
   *
   * @param problem the problem
   * @param cause the cause; may be null
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
   * The problem that a call reported.
   *
   * @param code the stable name of the refusal
   * @param status the status of the answer; 0 if there was none
   * @param message for people
   * @param errors the faults of an invalid request
   * @param requestId identifies the request in the server's log; null if there is none
   * @param retryAfter how long to wait before trying again; null if the server did not say
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
   * @param detail describes the fault
   */
  public record Fault(String where, String detail) {}

  // Returns an error of the class that fits the code.
  static MillraceException of(Problem problem, Throwable cause) {
    if (problem.status() == 503) return new Unavailable(problem, cause);
    return switch (problem.code()) {
      case "not_found" -> new NotFound(problem, cause);
      case "validation_failed" -> new ValidationFailed(problem, cause);
      case "duplicate_job" -> new DuplicateJob(problem, cause);
      case "duplicate_workflow" -> new DuplicateWorkflow(problem, cause);
      case "id_mismatch" -> new IdMismatch(problem, cause);
      case "idempotency_mismatch" -> new IdempotencyMismatch(problem, cause);
      case "invalid_state" -> new InvalidState(problem, cause);
      case "lease_lost" -> new LeaseLost(problem, cause);
      case "version_conflict" -> new VersionConflict(problem, cause);
      case "queue_full" -> new QueueFull(problem, cause);
      case "key_full" -> new KeyFull(problem, cause);
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
   * Returns the stable name of the refusal, such as {@code not_found}. {@code unreachable} means
   * that no answer came, {@code bad_answer} that the answer is not Millrace's.
   *
   * @return the code
   */
  public String code() {
    return code;
  }

  /**
   * Returns the status of the answer.
   *
   * @return an HTTP status; 0 if there was no answer
   */
  public int status() {
    return status;
  }

  /**
   * Returns the faults of an invalid request.
   *
   * @return the faults; empty for other refusals
   */
  public List<Fault> errors() {
    return errors == null ? List.of() : errors;
  }

  /**
   * Returns the id that identifies the request in the server's log.
   *
   * @return the id; null if there was no answer
   */
  public String requestId() {
    return requestId;
  }

  /**
   * Returns how long to wait before trying again.
   *
   * @return how long to wait; null if the server did not say
   */
  public Duration retryAfter() {
    return retryAfter;
  }

  /** The object does not exist, or the token may not see it. */
  public static final class NotFound extends MillraceException {
    private static final long serialVersionUID = 1;

    NotFound(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The request is invalid; {@link #errors()} lists the faults. */
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

  /** Another workflow has the unique key. */
  public static final class DuplicateWorkflow extends MillraceException {
    private static final long serialVersionUID = 1;

    DuplicateWorkflow(Problem problem, Throwable cause) {
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

  /** The idempotency key was used for another submission. */
  public static final class IdempotencyMismatch extends MillraceException {
    private static final long serialVersionUID = 1;

    IdempotencyMismatch(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The state of the job or queue does not allow the call. */
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

  /** The object no longer has the expected version. */
  public static final class VersionConflict extends MillraceException {
    private static final long serialVersionUID = 1;

    VersionConflict(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The queue already has its maximum number of ready jobs. */
  public static final class QueueFull extends MillraceException {
    private static final long serialVersionUID = 1;

    QueueFull(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The queue already has its maximum number of ready jobs of the job's fair key. */
  public static final class KeyFull extends MillraceException {
    private static final long serialVersionUID = 1;

    KeyFull(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The client sent too many requests; {@link #retryAfter()} says how long to wait. */
  public static final class RateLimited extends MillraceException {
    private static final long serialVersionUID = 1;

    RateLimited(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The token is missing or wrong. */
  public static final class Unauthenticated extends MillraceException {
    private static final long serialVersionUID = 1;

    Unauthenticated(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** The token lacks the necessary scope. */
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

  /** The server is temporarily unavailable; nothing was stored. */
  public static final class Unavailable extends MillraceException {
    private static final long serialVersionUID = 1;

    Unavailable(Problem problem, Throwable cause) {
      super(problem, cause);
    }
  }

  /** No answer came. The request may or may not have been carried out. */
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
