import type { Client } from "./client.js";
import { wellFormed } from "./errors.js";
import { opaqueText } from "./json.js";
import { Stopped, type StopReason } from "./outcome.js";
import { resultOf } from "./parents.js";
import type {
  LogLevel,
  MemberJobSpec,
  NewJob,
  Parent,
  ScheduleOfJob,
  WorkflowOfClaim,
} from "./types.js";
import { encode } from "./wire.js";
import { fit, MemberHandle, type MemberOptions } from "./workflow-builder.js";

/** The job of an attempt, as its handler sees it. */
export interface RunningJob<Payload = unknown> {
  /** The job's id. Use it as idempotency key for other services. */
  readonly id: string;
  /** The queue's name. */
  readonly queue: string;
  /** The type's name. */
  readonly type: string;
  /** The payload as read by the client's `json`. */
  readonly payload: Payload;
  /** The payload as it was submitted, byte for byte. */
  readonly payloadText: string;
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /** The maximum number of attempts. If this attempt fails, the job is dead. */
  readonly maxAttempts: number;
  /** As submitted. */
  readonly meta: Record<string, string>;
  /** As submitted. */
  readonly tags: string[];
  /** The schedule that created the job, if any. */
  readonly schedule: ScheduleOfJob | undefined;
  /** The workflow that the job belongs to, if any. */
  readonly workflow: WorkflowOfClaim | undefined;
  /** The members that its member needs, by ref, with their results; empty if it needs nothing. */
  readonly parents: Record<string, Parent>;
  /** The checkpoint that an earlier attempt saved with `progress`; undefined if none did. */
  readonly checkpoint: unknown;
  /** The submission's W3C trace context. */
  readonly traceparent: string | undefined;
  /** Its trace state. */
  readonly tracestate: string | undefined;
  /** Lower runs first. */
  readonly priority: number;
  /** When it was submitted, RFC 3339. */
  readonly createdAt: string;
}

/** A line of a job's log that has not been sent yet. */
export interface PendingLine {
  at: string;
  level: LogLevel;
  message: string;
}

/** Progress that has not been sent yet; the checkpoint is JSON text. */
export interface PendingProgress {
  percent?: number | undefined;
  message?: string | undefined;
  checkpoint?: string | undefined;
}

/** A handler's request to slow down a limit that its job names. */
export interface SlowDown {
  /** The job's key of the limit. Without one, the whole limit is slowed down. */
  key?: string;
  /** How long, in milliseconds: 100 ms to an hour. */
  forMs: number;
}

/** A request to slow down, as it is sent. */
export interface PendingWish {
  limit: string;
  key?: string;
  for_ms: number;
}

/** Members that a success adds to the workflow, as JSON texts, and refs of those that it skips. */
export interface Growth {
  members: string[];
  skip: string[];
}

/** The services that a context needs from the worker or the fake that created it. */
export interface Surroundings {
  readonly client: Client;
  readonly isStopping: boolean;
  format(values: unknown[]): string;
  /** Returns milliseconds since the epoch. */
  wallClock(): number;
  /** Called when the context has a line or progress to send. */
  news(): void;
}

/** Writes lines to a job's log, with the methods of `console`. */
export class JobLog {
  readonly #add: (level: LogLevel, values: unknown[]) => void;

  constructor(add: (level: LogLevel, values: unknown[]) => void) {
    this.#add = add;
  }

  debug = (...values: unknown[]): void => this.#add("debug", values);
  info = (...values: unknown[]): void => this.#add("info", values);
  log = (...values: unknown[]): void => this.#add("info", values);
  warn = (...values: unknown[]): void => this.#add("warn", values);
  error = (...values: unknown[]): void => this.#add("error", values);
}

// The server's bounds.
const MOST_LINES = 1_000;
const MOST_LOG_BYTES = 256 << 10;
const LONGEST_LINE = 8 << 10;
const LONGEST_MESSAGE = 1_024;
const MOST_PROGRESS_BYTES = 64 << 10;
const MOST_ENQUEUED = 1_000;
const MOST_ADDED = 1_000;
const SHORTEST_SLOW_DOWN = 100;
const LONGEST_SLOW_DOWN = 3_600_000;
const PROGRESS_FRAME = 128; // names, braces, the percentage

/** One attempt at one job. Handlers get it as their second argument. */
export class Context<Payload = unknown> {
  /** The job. */
  readonly job: RunningJob<Payload>;
  /** The fencing token, which rises with every lease, for services that compare tokens. */
  readonly token: number;
  readonly #around: Surroundings;
  /** @internal Checks whether there is something to tell the handler. */
  look: (() => void) | undefined;
  #stop: AbortController | undefined;
  #told: StopReason | undefined;
  #log: JobLog | undefined;
  #lines: PendingLine[] = [];
  #lineBytes = 0;
  #progress: PendingProgress | undefined;
  readonly #enqueued: string[] = [];
  readonly #added = new Map<string, string>(); // by ref
  readonly #skipped = new Set<string>();
  readonly #wishes = new Map<string, PendingWish>();

  /** @internal */
  constructor(job: RunningJob<Payload>, token: number, around: Surroundings) {
    this.job = job;
    this.token = token;
    this.#around = around;
  }

  /**
   * The signal that is aborted when the handler should end, with a `Stopped` as its reason. Pass it
   * on: `fetch(url, { signal: ctx.signal })`.
   */
  get signal(): AbortSignal {
    if (!this.#stop) {
      this.#stop = new AbortController();
      if (this.#told) this.#stop.abort(new Stopped(this.#told));
    }
    return this.#stop.signal;
  }

  /**
   * Why the handler was told to end; undefined if it was not. A handler that computes for a long
   * time without yielding is not reached by the signal and should check this now and then.
   */
  get stopReason(): StopReason | undefined {
    this.look?.();
    return this.#told;
  }

  /** Whether the worker is stopping: the handler may finish in the grace time, or save and end. */
  get stopping(): boolean {
    return this.#around.isStopping;
  }

  /** The workflow that the job belongs to, if any; for its callbacks also how it ended. */
  get workflow(): WorkflowOfClaim | undefined {
    return this.job.workflow;
  }

  /** The members that the job's member needs, by ref, as they ended; empty if it needs nothing. */
  get parents(): Record<string, Parent> {
    return this.job.parents;
  }

  /**
   * Returns the result of a parent: `ctx.parent<Rows>("load")`. Throws a RangeError if the job has no
   * such parent, and a `NoResult` if that one did not succeed, or its result was left out.
   */
  parent<Result = unknown>(ref: string): Result {
    return resultOf(this.parents, ref) as Result;
  }

  /** The job's log, with the methods of `console`. Lines are sent within a second. */
  get log(): JobLog {
    return (this.#log ??= new JobLog((level, values) =>
      this.addLine(level, this.#around.format(values)),
    ));
  }

  /**
   * Reports progress: 0 to 100 percent, a message of up to 1,024 bytes, and a checkpoint that the
   * next attempt finds in `job.checkpoint`. It is sent within a second. NaN leaves the percentage as
   * it was. Throws a TypeError if the checkpoint is not JSON, and a RangeError if the whole is larger
   * than 64 KiB.
   */
  progress(percent?: number, message?: string, checkpoint?: unknown): void {
    const next: PendingProgress = { ...this.#progress };
    const number = Number(percent);
    if (!Number.isNaN(number)) next.percent = Math.min(Math.max(number, 0), 100);
    if (message !== undefined) next.message = cut(message, LONGEST_MESSAGE);
    if (checkpoint !== undefined) {
      next.checkpoint = opaqueText(checkpoint, this.#around.client.link.codec);
    }
    const size = bytes(next.checkpoint ?? "") + bytes(JSON.stringify(next.message ?? ""));
    if (size + PROGRESS_FRAME > MOST_PROGRESS_BYTES) {
      throw new RangeError(`the progress has ${size} bytes; it must have less than 64 KiB`);
    }
    this.#progress = next;
    this.#around.news();
  }

  /**
   * Submits a job in the same commit as this attempt's success: the server stores both or neither.
   * At most 1,000 jobs. Throws a TypeError if the payload is not JSON.
   */
  enqueue(job: NewJob): void {
    if (this.#enqueued.length === MOST_ENQUEUED) {
      throw new RangeError(`an attempt can enqueue at most ${MOST_ENQUEUED} jobs`);
    }
    const { client } = this.#around;
    this.#enqueued.push(encode(client.prepared(job), client.link.codec));
  }

  /**
   * Adds a member to the job's workflow in the same commit as this attempt's success, and returns
   * what others need of it. At most 1,000 members. Throws an Error in a job that is no member of a
   * workflow, and a RangeError for a ref that was added before.
   */
  add(ref: string, job: MemberJobSpec, options: MemberOptions = {}): MemberHandle {
    this.#checkMember();
    if (this.#added.has(ref)) throw new RangeError(`a member ${ref} is added already`);
    if (this.#added.size === MOST_ADDED) {
      throw new RangeError(`an attempt can add at most ${MOST_ADDED} members`);
    }
    const { client } = this.#around;
    const member = { ...options, ref, job: client.traced(fit(job)) };
    this.#added.set(ref, encode(member, client.link.codec));
    return new MemberHandle(ref);
  }

  /**
   * Skips a blocked member that needs this one, in the same commit as this attempt's success. Throws
   * an Error in a job that is no member of a workflow.
   */
  skip(ref: string): void {
    this.#checkMember();
    this.#skipped.add(ref);
  }

  #checkMember(): void {
    if (this.workflow?.role === "member") return;
    throw new Error(
      "the job is no member of a workflow, so it can neither add members nor skip any",
    );
  }

  /** @internal */
  get growth(): Growth | undefined {
    if (this.#added.size + this.#skipped.size === 0) return undefined;
    return { members: [...this.#added.values()], skip: [...this.#skipped] };
  }

  /**
   * Asks a limit of the job to let nothing pass for a time, because an upstream asks for fewer
   * requests. It is sent with the outcome, of any kind; with `snooze`, this job is tried again
   * later without costing an attempt. The last call for a limit counts. Throws a RangeError unless
   * the time is 100 ms to an hour.
   */
  slowDown(limit: string, { key, forMs }: SlowDown): void {
    if (!(forMs >= SHORTEST_SLOW_DOWN && forMs <= LONGEST_SLOW_DOWN)) {
      throw new RangeError("a limit is slowed down for 100 ms to an hour");
    }
    const wish = { limit: String(limit), for_ms: Math.round(forMs) };
    this.#wishes.set(limit, key === undefined ? wish : { ...wish, key: String(key) });
  }

  /** @internal */
  get wishes(): PendingWish[] {
    return [...this.#wishes.values()];
  }

  /** @internal Tells the handler to end, at most once. */
  tell(reason: StopReason): void {
    if (this.#told) return;
    this.#told = reason;
    this.#stop?.abort(new Stopped(reason));
  }

  /** @internal */
  addLine(level: LogLevel, message: string): void {
    const line = {
      at: new Date(this.#around.wallClock()).toISOString(),
      level,
      message: cut(message, LONGEST_LINE),
    };
    this.#lines.push(line);
    this.#lineBytes += line.message.length;
    while (this.#lineBytes > MOST_LOG_BYTES || this.#lines.length > MOST_LINES) {
      this.#lineBytes -= (this.#lines.shift() as PendingLine).message.length;
    }
    this.#around.news();
  }

  /** @internal */
  get hasLines(): boolean {
    return this.#lines.length > 0;
  }

  /** @internal */
  get hasProgress(): boolean {
    return this.#progress !== undefined;
  }

  /** @internal */
  takeLines(atMost: number): PendingLine[] {
    const taken = this.#lines.splice(0, atMost);
    for (const line of taken) this.#lineBytes -= line.message.length;
    return taken;
  }

  /** @internal Puts back lines that were not sent, in front of newer ones. */
  returnLines(lines: PendingLine[]): void {
    this.#lines = [...lines, ...this.#lines].slice(-MOST_LINES);
    this.#lineBytes = this.#lines.reduce((sum, line) => sum + line.message.length, 0);
  }

  /** @internal */
  takeProgress(): PendingProgress | undefined {
    const taken = this.#progress;
    this.#progress = undefined;
    return taken;
  }

  /** @internal Puts back progress that was not sent; newer parts take precedence. */
  returnProgress(progress: PendingProgress): void {
    this.#progress = { ...progress, ...this.#progress };
  }

  /** @internal JSON texts. */
  get enqueued(): string[] {
    return this.#enqueued;
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function bytes(text: string): number {
  return encoder.encode(text).length;
}

// Returns the first bytes of a text, whole characters only.
function cut(text: string, most: number): string {
  const clean = wellFormed(text).replaceAll("\0", " ");
  if (clean.length * 3 <= most) return clean;
  const encoded = encoder.encode(clean);
  if (encoded.length <= most) return clean;
  let end = most;
  while (((encoded[end] as number) & 0xc0) === 0x80) end--;
  return decoder.decode(encoded.subarray(0, end));
}
