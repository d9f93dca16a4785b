import type { PendingLine, PendingProgress } from "../context.js";
import type { JobState } from "../types.js";
import type { RetryPolicy } from "../wire-shapes.js";
import type { Place } from "./fake-workflows.js";
import type { Submission } from "./submission.js";

const DEFAULT_RETRY = {
  strategy: "exponential",
  base_ms: 5_000,
  max_ms: 300_000,
  jitter: 0.2,
} as const;
const DEFAULT_MAX_ATTEMPTS = 5;
const FINAL: ReadonlySet<JobState> = new Set(["succeeded", "dead", "cancelled", "expired"]);

export interface FakeError {
  type: string;
  message: string;
  stack: string | null;
  fingerprint: string | null;
  attempt: number;
  at: string;
}

/** A job of the fake. Times are in milliseconds since the epoch; payload and result are JSON text. */
export class FakeJob {
  readonly id: string;
  readonly given: Submission;
  readonly queue: string;
  readonly payload: string;
  readonly retry: RetryPolicy;
  readonly maxAttempts: number;
  readonly createdAt: number;
  /** The order of submission. */
  readonly number: number;
  state: JobState = "ready";
  dueAt: number;
  expiresAt: number | null;
  attempt = 0;
  generation = 1;
  version = 1;
  starts = 0;
  startedAt: number | null = null;
  finishedAt: number | null = null;
  isCancelRequested = false;
  result: string | null = null;
  progress: PendingProgress | undefined;
  lastError: FakeError | null = null;
  /** Set if it belongs to a workflow. */
  place: Place | undefined;
  readonly lines: (PendingLine & { attempt: number })[] = [];

  constructor(given: Submission, id: string, number: number, now: number) {
    this.given = given;
    this.id = id;
    this.number = number;
    this.createdAt = now;
    this.queue = given.queue ?? "default";
    this.payload = given.payload ?? "null";
    this.retry =
      given.retry?.strategy === "list" ? given.retry : { ...DEFAULT_RETRY, ...given.retry };
    this.maxAttempts = given.max_attempts ?? DEFAULT_MAX_ATTEMPTS;
    this.dueAt = given.run_at ? Date.parse(given.run_at) : now + (given.delay_ms ?? 0);
    this.expiresAt = given.expires_at ? Date.parse(given.expires_at) : null;
    if (given.expires_in_ms !== undefined) this.expiresAt = now + given.expires_in_ms;
    if (this.dueAt > now) this.state = "scheduled";
  }

  get hasEnded(): boolean {
    return FINAL.has(this.state);
  }

  /** Lower runs first. */
  get priority(): number {
    return this.given.priority ?? 0;
  }

  /** Returns whether it still holds its unique key. */
  holdsKey(now: number): boolean {
    return !this.hasEnded || now < this.createdAt + (this.given.unique?.for_ms ?? 0);
  }

  /** Returns whether a submission with this id has the same content. */
  isSameAs(other: Submission): boolean {
    const content = (job: Submission): string =>
      JSON.stringify([
        job.type,
        job.payload ?? "null",
        job.priority ?? 0,
        job.timeout_ms ?? null,
        job.tags ?? [],
        Object.entries(job.meta ?? {}).sort(),
        job.unique?.key ?? null,
      ]);
    return content(this.given) === content(other);
  }

  /** Updates the state of a waiting job to the present time. */
  settle(now: number): void {
    if (this.hasEnded || this.state === "running") return;
    if (this.starts === 0 && this.expiresAt !== null && this.expiresAt <= now) {
      this.end("expired", this.expiresAt);
    } else if (this.dueAt <= now) {
      this.state = "ready";
    }
  }

  end(state: JobState, now: number): void {
    this.state = state;
    this.finishedAt = now;
    this.version++;
  }

  /** Returns the job in the API's form, as JSON text. */
  text(include: string[]): string {
    const { given } = this;
    const { id, name, ref, number, role } = this.place?.workflow ?? {};
    const { payload, run_at, delay_ms, expires_in_ms, idempotency_key, ...asGiven } = given;
    const view = {
      ...asGiven,
      id: this.id,
      queue: this.queue,
      type: given.type,
      state: this.state,
      priority: this.priority,
      attempt: this.attempt,
      max_attempts: this.maxAttempts,
      crashes: 0,
      generation: this.generation,
      version: this.version,
      created_at: shown(this.createdAt),
      run_at: shown(this.dueAt),
      expires_at: shown(this.expiresAt),
      started_at: shown(this.startedAt),
      finished_at: shown(this.finishedAt),
      lease_expires_at: null,
      worker: this.state === "running" ? "fake" : null,
      cancel_requested: this.isCancelRequested,
      last_error: this.lastError,
      retry: this.retry,
      lease_ms: given.lease_ms ?? 30_000,
      timeout_ms: given.timeout_ms ?? null,
      unique: given.unique ? { for_ms: null, on_conflict: "return", ...given.unique } : null,
      tags: given.tags ?? [],
      meta: given.meta ?? {},
      tracestate: undefined,
      workflow: this.place && { id, name, ref, number, role },
      logs: include.includes("logs") ? this.lineViews() : undefined,
    };
    const more = [`"progress":${this.#progressText()}`];
    if (include.includes("payload")) more.push(`"payload":${this.payload}`);
    if (include.includes("result")) more.push(`"result":${this.result ?? "null"}`);
    return `${JSON.stringify(view).slice(0, -1)},${more.join(",")}}`;
  }

  lineViews(): object[] {
    return this.lines.map((line, seq) => ({ seq, ...line }));
  }

  #progressText(): string {
    if (!this.progress) return "null";
    const { percent = null, message = null, checkpoint = "null" } = this.progress;
    return `${JSON.stringify({ percent, message }).slice(0, -1)},"checkpoint":${checkpoint}}`;
  }
}

function shown(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
