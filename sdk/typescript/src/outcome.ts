import { attempted, messageOf, MillraceError, wellFormed } from "./errors.js";
import { ResultError } from "./schema.js";

/**
 * Why a handler is told to end: its job was cancelled; the attempt timed out; the lease is no
 * longer certain, so that another worker may have the job; or the worker's grace time is over.
 */
export type StopReason = "cancelled" | "timeout" | "lease_lost" | "stopping";

const SENTENCES: Record<StopReason, string> = {
  cancelled: "the job was cancelled",
  timeout: "the attempt's time is over",
  lease_lost: "the worker has lost the job's lease",
  stopping: "the worker stops",
};

/** The reason of a handler's `AbortSignal`. Operations that the signal aborts reject with it. */
export class Stopped extends Error {
  static {
    this.prototype.name = "AbortError";
  }

  constructor(readonly reason: StopReason) {
    super(SENTENCES[reason]);
  }
}

/** An outcome that is neither a result nor an ordinary error. A handler returns or throws it. */
export abstract class Ending extends Error {}

/** The job runs again after `delay` milliseconds, without costing an attempt. */
export class Snooze extends Ending {
  static {
    this.prototype.name = "Snooze";
  }

  constructor(readonly delay: number) {
    super(`snoozed for ${delay} ms`);
  }
}

/** The attempt failed. The next one comes after `delay` milliseconds, if attempts are left. */
export class RetryAfter extends Ending {
  static {
    this.prototype.name = "RetryAfter";
  }

  constructor(
    /** In milliseconds. */
    readonly delay: number,
    message = "",
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The job is cancelled; the reason becomes a line in its log. */
export class Cancel extends Ending {
  static {
    this.prototype.name = "Cancel";
  }

  constructor(readonly reason = "") {
    super(reason);
  }
}

/** The attempt failed, and no retry would help: the job is dead. */
export class NonRetryable extends Ending {
  static {
    this.prototype.name = "NonRetryable";
  }
}

/** Postpones the job by `delay` milliseconds, up to 10 years: `return snooze(60_000)`. */
export const snooze = (delay: number): Snooze => new Snooze(delay);
/** Fails the attempt and chooses the delay before the next one, in milliseconds. */
export const retryAfter = (delay: number, message?: string): RetryAfter =>
  new RetryAfter(delay, message);
/** Cancels the job: `return cancel("the order is gone")`. */
export const cancel = (reason?: string): Cancel => new Cancel(reason);

/** An outcome as reported to the server. Delays are in milliseconds; the result is JSON text. */
export interface Outcome {
  outcome: "succeeded" | "failed" | "snoozed" | "cancelled" | "released";
  result?: string | undefined;
  error?: OutcomeError | undefined;
  delay?: number | undefined;
  /** A line for the job's log. */
  line?: string | undefined;
}

export interface OutcomeError {
  type: string;
  message: string;
  stack?: string | undefined;
  retryable?: boolean | undefined;
}

/**
 * Returns the outcome of a handler that threw or returned an ending, after it was `told`. It never
 * throws, whatever the handler threw.
 */
export function outcomeOf(thrown: unknown, told: StopReason | undefined): Outcome {
  try {
    return describedOutcome(thrown, told);
  } catch {
    return { outcome: "failed", error: { type: "Error", message: messageOf(thrown) } };
  }
}

function describedOutcome(thrown: unknown, told: StopReason | undefined): Outcome {
  if (told === "timeout") return timedOut();
  if (told !== undefined && isCancellation(thrown)) {
    if (told === "cancelled") return { outcome: "cancelled" };
    if (told === "stopping") return { outcome: "released" };
  }
  if (thrown instanceof Snooze) return { outcome: "snoozed", delay: milliseconds(thrown.delay) };
  if (thrown instanceof Cancel) return { outcome: "cancelled", line: String(thrown.reason) };
  if (thrown instanceof ResultError) return refused(messageOf(thrown));
  const error = errorOutcome(thrown);
  if (thrown instanceof RetryAfter) {
    return { outcome: "failed", error, delay: milliseconds(thrown.delay) };
  }
  if (thrown instanceof NonRetryable)
    return { outcome: "failed", error: { ...error, retryable: false } };
  return { outcome: "failed", error };
}

export function timedOut(): Outcome {
  return { outcome: "failed", error: { type: "timeout", message: SENTENCES.timeout } };
}

/** Returns the outcome that replaces one that the server does not accept. */
export function refused(message: string): Outcome {
  return { outcome: "failed", error: { type: "outcome_refused", message } };
}

// Returns whether the handler ended because of its signal: with the signal's reason, or with the
// platform's error for it.
function isCancellation(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof Stopped || error.name === "AbortError") return true;
  }
  return false;
}

const LONGEST_DELAY = 315_360_000_000;

function milliseconds(delay: number): number {
  return Number.isFinite(delay) ? Math.min(Math.max(Math.round(delay), 0), LONGEST_DELAY) : 0;
}

function errorOutcome(thrown: unknown): OutcomeError {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: messageOf(thrown) };
  return {
    type: attempted(() => wellFormed(className(thrown)), "Error"),
    message: messageOf(thrown),
    stack: attempted(() => wellFormed(stackOf(thrown)), "") || undefined,
  };
}

// Returns the name of the class itself, as many subclasses inherit `name` from their base.
function className(error: Error): string {
  if (Object.hasOwn(error, "name") || error instanceof MillraceError) return String(error.name);
  const name = String(error.constructor.name);
  return name === "DOMException" || name === "" ? String(error.name) || "Error" : name;
}

function stackOf(error: Error): string {
  let stack = String(error.stack ?? "");
  for (let cause = error.cause, depth = 0; cause instanceof Error && depth < 8; depth++) {
    stack += `\ncaused by: ${cause.stack ?? cause.message}`;
    cause = cause.cause;
  }
  return stack;
}
