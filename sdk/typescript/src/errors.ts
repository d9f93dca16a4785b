import type { Problem } from "./wire-shapes.js";

/** One fault of a request that the server refused. */
export interface Fault {
  /** A JSON Pointer into the body, or the name of the query parameter or header. */
  where: string;
  /** A description for people. */
  detail: string;
}

/** The details of an error besides its message. */
export interface ErrorDetails {
  code: string;
  status?: number | undefined;
  errors?: Fault[] | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** A call failed. The subclasses and the stable `code` distinguish the reasons. */
export class MillraceError extends Error {
  static {
    this.prototype.name = "MillraceError";
  }
  /** The server's code, as in `docs/reference/errors.md`, or one of this package's own. */
  readonly code: string;
  /** The status of the answer; undefined if there was none. */
  readonly status: number | undefined;
  /** The faults of an invalid request, at most 20. */
  readonly errors: Fault[];
  /** Identifies the request in the server's log. */
  readonly requestId: string | undefined;
  /** How many milliseconds to wait before the next try, if the server said so. */
  readonly retryAfter: number | undefined;

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.status = details.status;
    this.errors = details.errors ?? [];
    this.requestId = details.requestId;
    this.retryAfter = details.retryAfter;
  }
}

/** The job, workflow, queue or schedule does not exist, or the token may not see it. */
export class NotFound extends MillraceError {
  static {
    this.prototype.name = "NotFound";
  }
}

/** The request is invalid; `errors` lists the faults. */
export class ValidationFailed extends MillraceError {
  static {
    this.prototype.name = "ValidationFailed";
  }
}

/** The unique key is held, or another queue has a job with this id. */
export class DuplicateJob extends MillraceError {
  static {
    this.prototype.name = "DuplicateJob";
  }
}

/** Another workflow holds the unique key. */
export class DuplicateWorkflow extends MillraceError {
  static {
    this.prototype.name = "DuplicateWorkflow";
  }
}

/** A job or workflow with this id and other content exists. */
export class IdMismatch extends MillraceError {
  static {
    this.prototype.name = "IdMismatch";
  }
}

/** The idempotency key was used with another body. */
export class IdempotencyMismatch extends MillraceError {
  static {
    this.prototype.name = "IdempotencyMismatch";
  }
}

/** The state of the job, workflow, queue or schedule does not allow the call. */
export class InvalidState extends MillraceError {
  static {
    this.prototype.name = "InvalidState";
  }
}

/** The token is not that of the current lease: another worker has the job, or it has ended. */
export class LeaseLost extends MillraceError {
  static {
    this.prototype.name = "LeaseLost";
  }
}

/** The object no longer has the version that the call expects. */
export class VersionConflict extends MillraceError {
  static {
    this.prototype.name = "VersionConflict";
  }
}

/** The queue already has its maximum number of ready jobs. */
export class QueueFull extends MillraceError {
  static {
    this.prototype.name = "QueueFull";
  }
}

/** The queue already has its maximum number of ready jobs of the job's fair key. */
export class KeyFull extends MillraceError {
  static {
    this.prototype.name = "KeyFull";
  }
}

/** The client sent too many requests. */
export class RateLimited extends MillraceError {
  static {
    this.prototype.name = "RateLimited";
  }
}

/** The token is missing, unknown or expired. */
export class Unauthenticated extends MillraceError {
  static {
    this.prototype.name = "Unauthenticated";
  }
}

/** The token does not allow the call. */
export class Forbidden extends MillraceError {
  static {
    this.prototype.name = "Forbidden";
  }
}

/** The body, a payload or a result is over the server's limit. */
export class PayloadTooLarge extends MillraceError {
  static {
    this.prototype.name = "PayloadTooLarge";
  }
}

/** Status 503 with any code: the server is unavailable now. */
export class Unavailable extends MillraceError {
  static {
    this.prototype.name = "Unavailable";
  }
}

/** No answer that counts came; the server may have done the call. The code is `unreachable`. */
export class Unreachable extends MillraceError {
  static {
    this.prototype.name = "Unreachable";
  }
  /** False if the connection was refused, so that the server certainly has not begun. */
  readonly mayHaveBegun: boolean;
  /** Whether the server's certificate is not trusted, so that another try would not help. */
  readonly isUntrusted: boolean;

  constructor(
    message: string,
    details: { mayHaveBegun: boolean; isUntrusted?: boolean; cause?: unknown },
  ) {
    super(message, { code: "unreachable", cause: details.cause });
    this.mayHaveBegun = details.mayHaveBegun;
    this.isUntrusted = details.isUntrusted ?? false;
  }
}

/** The job or workflow has not ended within the timeout of `wait`. The code is `wait_timeout`. */
export class WaitTimeout extends MillraceError {
  static {
    this.prototype.name = "WaitTimeout";
  }

  constructor(message: string) {
    super(message, { code: "wait_timeout" });
  }
}

const CLASSES: Record<string, typeof NotFound> = {
  not_found: NotFound,
  validation_failed: ValidationFailed,
  duplicate_job: DuplicateJob,
  duplicate_workflow: DuplicateWorkflow,
  id_mismatch: IdMismatch,
  idempotency_mismatch: IdempotencyMismatch,
  invalid_state: InvalidState,
  lease_lost: LeaseLost,
  version_conflict: VersionConflict,
  queue_full: QueueFull,
  key_full: KeyFull,
  rate_limited: RateLimited,
  unauthenticated: Unauthenticated,
  forbidden: Forbidden,
  payload_too_large: PayloadTooLarge,
};

/** Returns whether a parsed body is a refusal of a Millrace server. */
export function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && typeof (body as Problem).code === "string";
}

/** Returns the typed error of a refusal. `retryAfter` is in milliseconds. */
export function errorOf(
  problem: Problem,
  status = problem.status,
  retryAfter?: number,
): MillraceError {
  const errors = (problem.errors ?? []).map((fault) => ({
    where: fault.pointer ?? fault.parameter ?? fault.header ?? "",
    detail: fault.detail,
  }));
  const faults = errors.map((fault) => `${fault.where || "/"}: ${fault.detail}`).join("; ");
  const text = problem.detail || problem.title || problem.code;
  const Class = status === 503 ? Unavailable : (CLASSES[problem.code] ?? MillraceError);
  return new Class(faults ? `${text} (${faults})` : text, {
    code: problem.code,
    status,
    errors,
    requestId: problem.request_id,
    retryAfter,
  });
}

/** Returns the error for an answer that is not Millrace's, such as a proxy's page. */
export function badAnswer(status: number, text: string, retryAfter?: number): MillraceError {
  const Class = status === 503 ? Unavailable : MillraceError;
  const shown = text.slice(0, 200).replace(/\s+/g, " ").trim();
  return new Class(`the answer (status ${status}) is not Millrace's: ${shown || "it is empty"}`, {
    code: "bad_answer",
    status,
    retryAfter,
  });
}

/** Returns whether the same request may succeed later: a lost connection, 429, 502, 503, 504. */
export function isTemporary(error: unknown): boolean {
  if (!(error instanceof MillraceError)) return false;
  if (error instanceof Unreachable) return true;
  return error.status === 429 || (error.status !== undefined && TEMPORARY.has(error.status));
}

const TEMPORARY = new Set([502, 503, 504]);

/** Returns how many milliseconds to wait before the next try; 0 if the server did not say. */
export function retryAfterOf(error: unknown): number {
  return error instanceof MillraceError ? (error.retryAfter ?? 0) : 0;
}

/** Returns the text of anything that was thrown; a fallback if that text can't be had. */
export function messageOf(thrown: unknown): string {
  return attempted(() => wellFormed(String(thrown instanceof Error ? thrown.message : thrown)));
}

/**
 * Returns a text of an application's error. Its members may be getters or proxies that throw; the
 * fallback then stands for the text.
 */
export function attempted(
  text: () => string,
  fallback = "an error that can't be described",
): string {
  try {
    return text();
  } catch {
    return fallback;
  }
}

/** Returns the text with U+FFFD for each half of a surrogate pair, which JSON can't carry. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
