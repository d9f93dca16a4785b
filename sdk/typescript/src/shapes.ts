// Made by tools/types from docs/reference/openapi.yaml; do not edit.
import type { TimeInput } from "./types.js";

/**
 * `scheduled` waits for `runAt`, `retrying` for its backoff, `blocked` for other jobs. Terminal are
 * `succeeded`, `dead`, `cancelled` and `expired` (not started before `expiresAt`).
 */
export type JobState =
  | "scheduled"
  | "ready"
  | "running"
  | "retrying"
  | "blocked"
  | "succeeded"
  | "dead"
  | "cancelled"
  | "expired";

/**
 * `hold`: while the job waits for its next attempt, its successors wait too. `pass`: they run.
 * Default `hold`.
 */
export type OrderOnFailure = "hold" | "pass";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Null without a breaker. */
export type BreakerState = "closed" | "open" | "half_open";

/**
 * The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as
 * `missedLimit`.
 */
export type MissedPolicy = "skip" | "one" | "all";

/**
 * What happens at an instant while the job or workflow of the instant before has not ended: `allow`
 * the new job beside it, `skip` the instant, `queue` it (one waits until the job has ended, later
 * ones are skipped), or `replace` the job: cancel it, and submit the new one when it has ended.
 */
export type OverlapPolicy = "allow" | "skip" | "queue" | "replace";

/**
 * The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
 * Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed time,
 * and a gap has none.
 */
export type DstGap = "run" | "skip";

/**
 * The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only
 * for expressions whose minute and hour do not begin with `*`: the others follow elapsed time, and
 * are due both times.
 */
export type DstOverlap = "once" | "twice";

/**
 * `stopping`: nothing more is released, and running jobs are told. `succeeded`, `failed` and
 * `cancelled` are final; a retry brings a failed or cancelled workflow back. No workflow has the
 * states `compensating` and `stuck` yet.
 */
export type WorkflowState =
  "running" | "stopping" | "compensating" | "stuck" | "succeeded" | "failed" | "cancelled";

/**
 * `blocked` waits for what it needs; `active` has a job that has not ended. `skipped`: a need can't
 * be met any more, the workflow stopped, or a call skipped it.
 */
export type MemberState = "blocked" | "active" | "succeeded" | "failed" | "skipped";

/**
 * Why a member has failed or was skipped; null if nothing is known. `refused`: its job was, at its
 * release. `by_call`: a call, or the ack of a member that it needs, skipped it. `growth_refused`:
 * its job succeeded, and the workflow refused what the ack added.
 */
export type MemberReason =
  "dead" | "expired" | "cancelled" | "deleted" | "refused" | "by_call" | "growth_refused";

/**
 * `failed`: a member that is released so catches the failure. `ended`: succeeded, failed or
 * skipped.
 */
export type NeedOn = "succeeded" | "failed" | "ended";

/**
 * `continue`: what hangs on it is skipped. `stop`: once nothing can catch it, what waits is
 * skipped, and running jobs are cancelled. `ignore`: as `continue`, but the workflow succeeds.
 */
export type OnMemberFailed = "continue" | "stop" | "ignore";

/** Whether the job is a member's, or one that the end of the workflow submitted. */
export type MemberRole = "member" | "callback";

export type EventType =
  | "job.submitted"
  | "job.started"
  | "job.succeeded"
  | "job.retrying"
  | "job.snoozed"
  | "job.released"
  | "job.lease_expired"
  | "job.timed_out"
  | "job.dead"
  | "job.expired"
  | "job.cancel_requested"
  | "job.cancelled"
  | "job.retried"
  | "job.edited"
  | "job.deleted"
  | "queue.updated"
  | "queue.paused"
  | "queue.resumed"
  | "queue.purged"
  | "queue.deleted"
  | "schedule.updated"
  | "schedule.paused"
  | "schedule.resumed"
  | "schedule.deleted"
  | "schedule.skipped"
  | "schedule.broken"
  | "limit.updated"
  | "limit.paused"
  | "limit.resumed"
  | "limit.deleted"
  | "type.updated"
  | "type.paused"
  | "type.resumed"
  | "type.deleted"
  | "limit.slowed_down"
  | "limit.slow_down_ended"
  | "breaker.opened"
  | "breaker.closed"
  | "job.debounced"
  | "operation.started"
  | "operation.paused"
  | "operation.resumed"
  | "operation.rate_changed"
  | "operation.ended"
  | "error_group.opened"
  | "error_group.reopened"
  | "error_group.resolved"
  | "error_group.muted"
  | "workflow.created"
  | "workflow.grown"
  | "workflow.closed"
  | "workflow.stopping"
  | "workflow.succeeded"
  | "workflow.failed"
  | "workflow.cancelled"
  | "workflow.retried"
  | "workflow.skipped"
  | "workflow.late_success"
  | "workflow.deleted";

export interface BackoffPolicy {
  /** How the delay grows. */
  strategy: "exponential" | "linear" | "fixed";
  /** The first delay. Default `5000`. At most 10 years. In milliseconds. */
  base?: number;
  /** The longest delay. Default `300000`. At most 10 years. In milliseconds. */
  max?: number;
  /** The part by which a delay varies either way. Default `0.2`. 0 to 1. */
  jitter?: number;
}

export interface DelaysPolicy {
  /** A list of delays. */
  strategy: "list";
  /** The delay after each attempt; the last one repeats. 1 to 100 entries. In milliseconds. */
  delays: number[];
}

/**
 * The delay before attempt n+1 is `base * 2^(n-1)` (exponential), `base * n` (linear) or `base`
 * (fixed), at most `max`, and then changes by up to `jitter` of itself either way. `list` names the
 * delays.
 */
export type RetryPolicy = BackoffPolicy | DelaysPolicy;

/**
 * One job for each key within the queue, while the job is not terminal and for `for` after the
 * submission.
 */
export interface Unique {
  /** The key. 1 to 255 characters. */
  key: string;
  /**
   * How long the key is held at least. Default until the job has ended. At most 10 years. In
   * milliseconds.
   */
  for?: number;
  /**
   * `return` the holder, `reject` with 409 `duplicate_job`, or `replace`: cancel a waiting holder
   * (a running one is 409). `debounce`: a waiting holder takes the new payload, and starts `delay`
   * after the newest submission (its backoff is never shortened; another type is 409). A running
   * holder lets one new job wait; if it fails without having ended, it is cancelled as
   * `superseded`. With `for`, `return` is a throttle. Default `return`.
   */
  onConflict?: "return" | "reject" | "replace" | "debounce";
  /**
   * With `debounce`: the longest time from the first submission to the start. At most 10 years. In
   * milliseconds.
   */
  maxWait?: number;
}

/** A job of a batch, which may have an idempotency key of its own. */
export interface NewJob<Payload = unknown> {
  /** The type, which decides who runs the job: 1 to 128 characters of `A-Za-z0-9._:/-`. */
  type: string;
  /**
   * A repetition with the key returns the first job, for 24 hours (a setting). As the header
   * `Idempotency-Key` of a single job; bound to the item and the batch's `defaults` as they are
   * sent. Visible ASCII. 1 to 255 characters.
   */
  idempotencyKey?: string;
  /**
   * A UUIDv7 that the client makes. A second submission of it to the same queue returns the stored
   * job, as long as the server keeps that. If the job now has another type, payload (byte by byte),
   * priority, timeout, tags, meta or unique key, it is 409 `id_mismatch`. If another queue's job
   * has the id, it is 409 `duplicate_job`. If it is left out, the server makes one.
   */
  id?: string;
  /** The earliest start; not together with `delay`. Default now. */
  runAt?: TimeInput;
  /** The same as `runAt`, counted from the submission. At most 10 years. In milliseconds. */
  delay?: number;
  /**
   * A job that has not started by then is `expired`; not together with `expiresIn`. Default never.
   */
  expiresAt?: TimeInput;
  /**
   * The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out,
   * `default`.
   */
  queue?: string;
  /**
   * Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`.
   */
  payload?: Payload;
  /** Lower runs first. Default `0`. -32,768 to 32,767. */
  priority?: number;
  /** The same as `expiresAt`, counted from the submission. At most 10 years. In milliseconds. */
  expiresIn?: number;
  /** The most attempts. Default the queue's. 1 to 1,000. */
  maxAttempts?: number;
  /** How long the job waits after a failed attempt. Default the queue's. */
  retry?: RetryPolicy;
  /** The length of a lease. Default the queue's. 1,000 to 86,400,000 ms. */
  lease?: number;
  /**
   * The bound on one attempt, however often it is extended. Default none. At most 10 years. In
   * milliseconds.
   */
  timeout?: number;
  /** Allows one job for each key within the queue. */
  unique?: Unique;
  /** Names to find the job by. Default `[]`. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. Default `{}`. */
  meta?: Record<string, string>;
  /** W3C trace context. At most 512 characters. */
  traceparent?: string;
  /** W3C trace state, which goes with it. At most 512 characters. */
  tracestate?: string;
  /**
   * The limits that a job must pass to start, its queue's included; each name once. `key` is
   * required if the limit counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
   * submission; priority does not count among them. 1 to 128 characters.
   */
  orderKey?: string;
  orderOnFailure?: OrderOnFailure;
  /**
   * The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
   * characters.
   */
  fairKey?: string;
}

export interface JobUnique {
  /** The key. */
  key: string;
  /** How long the key is held at least; null: until the job has ended. In milliseconds. */
  for: number | null;
  /** What another submission with the key does. */
  onConflict: "return" | "reject" | "replace" | "debounce";
  /** With `debounce`: the longest time from the first submission to the start. In milliseconds. */
  maxWait?: number;
}

export interface Job<Payload = unknown, Result = unknown> {
  /** A UUIDv7. */
  id: string;
  /** The queue's name. */
  queue: string;
  /** The type's name. */
  type: string;
  state: JobState;
  /** Lower runs first. -32,768 to 32,767. */
  priority: number;
  /** The number of started attempts, without those that were snoozed or released. */
  attempt: number;
  /** The most attempts. 1 to 1,000. */
  maxAttempts: number;
  /** The number of expired leases; at the queue's `maxCrashes` the job is dead, `worker_lost`. */
  crashes: number;
  /** Rises with every retry by hand. */
  generation: number;
  /** Rises with every change; `ETag` and `If-Match` carry it. */
  version: number;
  /** When it was submitted. */
  createdAt: string;
  /** When it is, or was, due. */
  runAt: string;
  /** When it expires if it has not started; null: never. */
  expiresAt: string | null;
  /** The last start. */
  startedAt: string | null;
  /** When it ended; null until then. */
  finishedAt: string | null;
  /** Null unless running. */
  leaseExpiresAt: string | null;
  /** The worker's name (see WorkerName); null unless running. */
  worker: string | null;
  /** Whether it was cancelled while it ran. */
  cancelRequested: boolean;
  /** The progress that was reported last; null if none was. */
  progress: Progress | null;
  /** Why the last attempt failed; null if none did. */
  lastError: JobError | null;
  /** Null if the queue's policy applies. */
  retry: RetryPolicy | null;
  /** Null if the queue's length applies. In milliseconds. */
  lease: number | null;
  /** The bound on one attempt; null if there is none. In milliseconds. */
  timeout: number | null;
  /** Its unique key; null if it has none. */
  unique: JobUnique | null;
  /** Names to find the job by. At most 32 entries. */
  tags: string[];
  /** The client's own strings, at most 8 KiB. */
  meta: Record<string, string>;
  /**
   * The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
   * are null, `message` of an error or a log line is empty. Always `true`.
   */
  redacted?: boolean;
  /** W3C trace context of the submission. Left out if it had none. */
  traceparent?: string;
  /** The schedule that made the job. Left out if none did. */
  schedule?: ScheduleOfJob;
  /** The workflow that the job belongs to. Left out if it belongs to none. */
  workflow?: WorkflowOfJob;
  /** With `include=payload`. */
  payload?: Payload;
  /** With `include=result`; null until there is one. */
  result?: Result | null;
  /** With `include=attempts`. */
  attempts?: Attempt[];
  /** With `include=logs`. */
  logs?: LogLine[];
  /** With `include=events`. */
  events?: JobEvent[];
  /**
   * The limits that a job must pass to start, its queue's included; each name once. `key` is
   * required if the limit counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
   * submission; priority does not count among them. 1 to 128 characters.
   */
  orderKey?: string;
  orderOnFailure?: OrderOnFailure;
  /**
   * The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
   * characters.
   */
  fairKey?: string;
}

/** The schedule that made the job. Left out if there is none. */
export interface ScheduleOfJob {
  /** The schedule's name. */
  name: string;
  /** The instant that the job is for; the job may come later. */
  scheduledAt: string;
}

export interface Progress {
  /** From 0 to 100; null if it was not told. */
  percent: number | null;
  /** At most 1,024 bytes; null if it was not told. */
  message: string | null;
  /** State for the next attempt; opaque JSON. */
  checkpoint: unknown;
}

export interface JobError {
  /**
   * The type that the worker reported, or one of the server's: `lease_expired`, `timeout` or
   * `worker_lost`.
   */
  type: string;
  /** At most 4 KiB. */
  message: string;
  /** At most 32 KiB; null if there is none. */
  stack: string | null;
  /** Equal for errors of the same group. */
  fingerprint: string | null;
  /** The attempt that failed, from 1. */
  attempt: number;
  /** When it failed. */
  at: string;
  /**
   * The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
   * are null, `message` of an error or a log line is empty. Always `true`.
   */
  redacted?: boolean;
}

export interface Attempt {
  /** Counts every start, from 1. */
  n: number;
  /** The attempt's number, from 1. Snoozed and released attempts do not count. */
  attempt: number;
  /** The worker's name; null if it is not known. */
  worker: string | null;
  /** When a worker got the job. */
  startedAt: string;
  /** When it ended; null while it runs. */
  finishedAt: string | null;
  /** How it ended. */
  outcome:
    | "running"
    | "succeeded"
    | "failed"
    | "snoozed"
    | "released"
    | "cancelled"
    | "dead"
    | "lease_expired"
    | "timed_out";
  /** Why it failed; null if it did not. */
  error: JobError | null;
}

export interface LogLine {
  /** Rises along the job's lines. */
  seq: number;
  /** The attempt that wrote the line, from 1. */
  attempt: number;
  /** When it was written, by the worker's clock. */
  at: string;
  /** Its level; `info` if the worker gave none. */
  level: LogLevel;
  /** At most 8 KiB. */
  message: string;
  /**
   * The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
   * are null, `message` of an error or a log line is empty. Always `true`.
   */
  redacted?: boolean;
}

/** The filters of `GET /v1/jobs`, at least one. */
export interface BulkFilter {
  state?: JobState[];
  queue?: string;
  type?: string;
  tag?: string;
  createdAfter?: TimeInput;
  createdBefore?: TimeInput;
  /** At most 1,024 characters. */
  q?: string;
}

/** Either `ids` or `filter`. */
export interface BulkRequest {
  action: "retry" | "cancel" | "delete" | "reprioritize";
  /** Needed by `reprioritize`. -32,768 to 32,767. */
  priority?: number;
  /** 1 to 1,000 entries. */
  ids?: string[];
  filter?: BulkFilter;
  /** Count only. Default `false`. */
  dryRun?: boolean;
  /** With `filter`. Answer 202 with an operation, however many jobs match. Default `false`. */
  operation?: boolean;
  /**
   * With `filter`. Begins an operation that changes at most this many jobs a second. 1 to 100,000.
   */
  ratePerS?: number;
}

export interface Operation {
  id: string;
  kind: "bulk" | "purge" | "error_group" | "reproject";
  action: "retry" | "cancel" | "delete" | "reprioritize" | null;
  /** The filter in the language of searches. */
  query: string | null;
  /** The one queue that the operation is about. */
  queue: string | null;
  /** The fingerprint of an error group. */
  errorGroup: string | null;
  state: "running" | "paused" | "completed" | "cancelled" | "failed";
  /**
   * How many jobs matched at the beginning; an estimate. Null if they could not be counted within a
   * second. Of `reproject`, rows of the log, in `done` and `changed` too.
   */
  matched: number | null;
  /** The jobs that had their turn: the sum of `changed` and `failed`. */
  done: number;
  changed: number;
  /**
   * The jobs that were left alone, because they had left their state or because something forbids
   * the action.
   */
  failed: number;
  /** Jobs a second; null means no bound. 1 to 100,000. */
  ratePerS: number | null;
  createdAt: string;
  /** The name of the token. */
  createdBy: string | null;
  updatedAt: string;
  /** Null until the operation has ended. */
  endedAt: string | null;
  /** At the rate, or at the pace so far; null if that is not known. */
  estimatedEndAt: string | null;
  /** Why the operation failed. */
  reason: string | null;
}

export interface WorkerJob {
  id: string;
  queue: string;
  type: string;
  attempt: number;
  startedAt: string;
  leaseExpiresAt: string;
}

export interface WorkerInfo {
  /**
   * The worker's id; if its token is limited to queues, followed by `~` and the token's id. Use
   * this name to tell the worker to be quiet or to stop.
   */
  id: string;
  queues: string[];
  /** Null if the worker takes every type. */
  types: string[] | null;
  state: "active" | "quiet" | "stopping";
  firstSeenAt: string;
  lastSeenAt: string;
  running: WorkerJob[];
  host: string | null;
  pid: number | null;
  sdk: string | null;
  /** The version of the user's program, not of the SDK. */
  version: string | null;
  labels: Record<string, string>;
}

export interface RetentionInput {
  /** Of jobs that succeeded. Default a day. At most 10 years. In milliseconds. */
  succeeded?: number | null;
  /** Of jobs that failed for good. Default 30 days. At most 10 years. In milliseconds. */
  dead?: number | null;
  /** Of jobs that were cancelled. Default a day. At most 10 years. In milliseconds. */
  cancelled?: number | null;
  /** Of jobs that did not start in time. Default a day. At most 10 years. In milliseconds. */
  expired?: number | null;
}

export interface QueueSettings {
  /** Added to each job that is submitted to the queue. At most 8 entries. */
  limits?: QueueLimit[] | null;
  /** How long ended jobs are kept. */
  retention?: RetentionInput;
  /** For jobs that do not set their own. Default 5. 1 to 1,000. */
  maxAttempts?: number;
  /**
   * A job that loses its worker this many times is dead, `worker_lost`. Default the job's
   * `maxAttempts`. 1 to 1,000.
   */
  maxCrashes?: number | null;
  /** For jobs that do not set their own. */
  retry?: RetryPolicy;
  /** For jobs and claims that do not set their own. Default 30,000. 1,000 to 86,400,000 ms. */
  lease?: number;
  /** The most ready jobs; beyond it submissions are 429 `queue_full`; null is no bound. */
  maxReady?: number | null;
  /** The most jobs of the queue that run together; null is no bound. 1 to 1,000,000. */
  concurrency?: number | null;
  /** The most jobs that start in each period; null is no bound. */
  rate?: Rate | null;
  /** The breaker for all attempts of the queue; null is none. */
  breaker?: Breaker | null;
  /** If null, fair keys have no effect. Not together with `ageing`. */
  fair?: Fair | null;
  /**
   * A job gains one step of priority for each such time that it waits; null: priorities are strict.
   * Not together with `fair`. A change sorts at most 1,000,000 ready jobs again, and is 409 beyond
   * that. 1,000 to 86,400,000 ms.
   */
  ageing?: number | null;
  /**
   * The most ready jobs of one `fairKey`; beyond it submissions with the key are 429 `key_full`;
   * null is no bound. Only with `fair`.
   */
  maxReadyPerKey?: number | null;
}

export interface QueueLimit {
  /** The limit's name. */
  name: string;
  /** The job's key, if the limit counts by key. 1 to 255 characters. */
  key?: string;
  /** The key is the job's own `fairKey`. The limit does not apply to a job without one. */
  keyFrom?: "fair_key";
  /** Default `1`. 1 to 1,000,000. */
  cost?: number;
}

/**
 * Within one priority of the queue, `fairKey`s get service in proportion to their weights. Jobs
 * without a key share the key `""`.
 */
export interface Fair {
  /** At most 1,000 keys with a weight of their own. */
  weights?: Record<string, number>;
  /** Default `1`. 1 to 1,000. */
  defaultWeight?: number;
  /** `time`: keys share running time. `starts`: keys share starts. Default `time`. */
  by?: "time" | "starts";
}

export interface Retention {
  /** Of jobs that succeeded. Default a day. At most 10 years. In milliseconds. */
  succeeded: number | null;
  /** Of jobs that failed for good. Default 30 days. At most 10 years. In milliseconds. */
  dead: number | null;
  /** Of jobs that were cancelled. Default a day. At most 10 years. In milliseconds. */
  cancelled: number | null;
  /** Of jobs that did not start in time. Default a day. At most 10 years. In milliseconds. */
  expired: number | null;
}

export interface CurrentSettings {
  /** Added to each job that is submitted to the queue. At most 8 entries. */
  limits: QueueLimit[];
  /** How long ended jobs are kept. */
  retention: Retention;
  /** For jobs that do not set their own. Default 5. 1 to 1,000. */
  maxAttempts: number;
  /**
   * A job that loses its worker this many times is dead, `worker_lost`. Default the job's
   * `maxAttempts`. 1 to 1,000.
   */
  maxCrashes: number | null;
  /** For jobs that do not set their own. */
  retry: RetryPolicy;
  /** For jobs and claims that do not set their own. Default 30,000. 1,000 to 86,400,000 ms. */
  lease: number;
  /** The most ready jobs; beyond it submissions are 429 `queue_full`; null is no bound. */
  maxReady: number | null;
  /** The most jobs of the queue that run together; null is no bound. 1 to 1,000,000. */
  concurrency: number | null;
  /** The most jobs that start in each period; null is no bound. */
  rate: Rate | null;
  /** The breaker for all attempts of the queue; null is none. */
  breaker: Breaker | null;
  /** If null, fair keys have no effect. Not together with `ageing`. */
  fair: Fair | null;
  /**
   * A job gains one step of priority for each such time that it waits; null: priorities are strict.
   * Not together with `fair`. A change sorts at most 1,000,000 ready jobs again, and is 409 beyond
   * that. 1,000 to 86,400,000 ms.
   */
  ageing: number | null;
  /**
   * The most ready jobs of one `fairKey`; beyond it submissions with the key are 429 `key_full`;
   * null is no bound. Only with `fair`.
   */
  maxReadyPerKey: number | null;
}

/**
 * If at least `minAttempts` attempts ran in the last `window` and a part of `failureRate` failed,
 * no job starts for `open`. After that at most `probes` jobs run; that many successes close the
 * breaker, one failure opens it again. Jobs wait meanwhile, and lose no attempts.
 */
export interface Breaker {
  /** The part of attempts that may fail, above 0. At most 1. */
  failureRate: number;
  /** The fewest attempts that say anything. 1 to 100,000. */
  minAttempts: number;
  /** How far back attempts count. 1,000 to 3,600,000 ms. */
  window: number;
  /** How long nothing starts. 100 to 86,400,000 ms. */
  open: number;
  /** Jobs that run after that; the breaker closes if all succeed. 1 to 1,000. */
  probes: number;
}

/** A token bucket of starts. */
export interface Rate {
  /** Starts in each period. 1 to 1,000,000,000. */
  limit: number;
  /** The period. 1 to 86,400,000 ms. */
  per: number;
  /** The most starts at once after a pause; `limit` by default. 1 to 1,000,000,000. */
  burst?: number;
}

export interface JobLimit {
  /** The limit's name. */
  name: string;
  /** The job's key, if the limit counts by key. 1 to 255 characters. */
  key?: string;
  /** The tokens of the limit's rate that a start takes. Default `1`. 1 to 1,000,000. */
  cost?: number;
}

export interface KeyBound {
  /** 1 to 1,000,000. */
  concurrency?: number | null;
  rate?: Rate | null;
}

export interface LimitSettings {
  /** Each key has slots and a bucket of its own. Default `false`. */
  perKey?: boolean | null;
  /** Other bounds by key; an absent bound is the same as for every key. */
  keys?: Record<string, KeyBound>;
  /** The most live leases at a time; null is no bound. 1 to 1,000,000. */
  concurrency?: number | null;
  /** The rate of starts; null is no bound. */
  rate?: Rate | null;
  /** Null is none. */
  breaker?: Breaker | null;
  /** A retry budget: the rate of starts after a job's first; null is no bound. */
  retryRate?: Rate | null;
}

export interface Limit {
  name: string;
  perKey: boolean;
  /** Other bounds by key; an absent bound is the same as for every key. */
  keys: Record<string, KeyBound>;
  /** Rises with every change; `ETag` and `If-Match` carry it. */
  version: number;
  /** The most live leases at a time; null is no bound. 1 to 1,000,000. */
  concurrency: number | null;
  /** The rate of starts; null is no bound. */
  rate: Rate | null;
  /** Null is none. */
  breaker: Breaker | null;
  /** A retry budget: the rate of starts after a job's first; null is no bound. */
  retryRate: Rate | null;
  paused: boolean;
  pauseReason: string | null;
  pausedUntil: string | null;
  /** Live leases. */
  inUse: number;
  /** The number of ready jobs that name it. */
  waiting: number;
  /** When the rate allows the next start; null when it does now, or there is none. */
  nextTokenAt: string | null;
  breakerState: BreakerState | null;
  /** When an open breaker lets probes through. */
  openUntil: string | null;
  /** The end of a pause, or of a worker's `slow_down`; the later one. */
  blockedUntil: string | null;
}

export interface WhyNote {
  code: "no_worker";
  lastSeen?: string;
}

export interface Why {
  id: string;
  state: JobState;
  at: string;
  /** Sentences for a person. */
  summary: string;
  /**
   * Every reason why the job waits, in the order in which a claim meets it. Empty: the next claim
   * of its queue and type gets it.
   */
  blocking: Blocking[];
  /** `no_worker`: nobody has asked for its queue and type for a minute. */
  notes: WhyNote[];
}

/**
 * The members depend on the code. `limitKind` distinguishes a limit from the gate of a type or of a
 * queue.
 */
export interface Blocking {
  /** What holds the job, or the jobs, back. */
  code:
    | "running"
    | "ended"
    | "scheduled"
    | "backoff"
    | "parents"
    | "expired"
    | "queue_paused"
    | "type_paused"
    | "limit_paused"
    | "order"
    | "limit_full"
    | "rate"
    | "retry_rate"
    | "breaker_open"
    | "slow_down"
    | "share"
    | "behind";
  /** The name of the limit, or of the type or queue that has the gate. */
  limit?: string;
  /** Whose gate it is. */
  limitKind?: "limit" | "type" | "queue";
  /** The key of the limit, if only that is closed. */
  key?: string;
  /** The worker that runs the job. */
  worker?: string;
  /** The reason of a pause. */
  reason?: string;
  /** How many slots are taken. */
  inUse?: number;
  /** How many slots there are. */
  concurrency?: number;
  /**
   * For a share: the slots that the job's shard may use, or the burst if the limit has no
   * concurrency. Other shards have the rest.
   */
  have?: number;
  /** For a share: since when the shard has wanted more. */
  wantedSince?: string;
  /** The job that comes first. */
  waitsFor?: string;
  /** Up to five jobs that hold it. */
  holders?: string[];
  /** In `blockedBy` of a queue: the number of its ready jobs that wait for the gate. */
  waiting?: number;
  /** The number of jobs before it, at most 1,000. */
  ahead?: number;
  /** There are more than were counted. */
  more?: boolean;
  /** Since when it holds. */
  since?: string;
  /** When it ends by itself. */
  until?: string;
  /** When a token comes. */
  availableAt?: string;
}

/** Exact, by state. */
export interface Counts {
  /** Wait for their time. */
  scheduled: number;
  /** Wait for a worker. */
  ready: number;
  /** Have a lease. */
  running: number;
  /** Wait for their next attempt. */
  retrying: number;
  /** Wait for other jobs. */
  blocked: number;
  /** Have succeeded, and are kept. */
  succeeded: number;
  /** Have failed for good, and are kept. */
  dead: number;
  /** Were cancelled, and are kept. */
  cancelled: number;
  /** Did not start in time, and are kept. */
  expired: number;
}

/** Over the last 60 s. */
export interface QueueRates {
  /** New jobs a second. */
  submittedPerS: number;
  /** Attempts that began, a second. */
  startedPerS: number;
  /** Attempts that succeeded, a second. */
  succeededPerS: number;
  /** Attempts that failed, a second. */
  failedPerS: number;
}

export interface Queue {
  /** The queue's name. */
  name: string;
  /** Whether the server hands out none of its jobs. */
  paused: boolean;
  /** Why it is paused; null if it is not, or no reason was given. */
  pauseReason: string | null;
  /** The numbers of its jobs, by state. */
  counts: Counts;
  /** How long the oldest ready job has been due; null if none is ready. In milliseconds. */
  oldestReadyAge: number | null;
  /** Its rates over the last 60 s. */
  rates: QueueRates;
  /** All its settings, with their defaults. */
  settings: CurrentSettings;
  /** Rises with every change of the settings, pause or resume. */
  version: number;
  /**
   * The gates that hold back ready jobs of the queue, most jobs first; at most 20. Only in the
   * answer to GET of one queue. The keys of a limit count together; `key` is present if only one is
   * closed. `more` says that the server looked only at a part of the jobs.
   */
  blockedBy?: Blocking[];
}

/** The submission to make at each instant; its payload has at most 64 KiB. */
export interface ScheduleJobSpec {
  /** The type, which decides who runs the jobs. */
  type: string;
  /** As in a submission; not together with `expiresIn`. Default never. */
  expiresAt?: TimeInput;
  /**
   * The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out,
   * `default`.
   */
  queue?: string;
  /**
   * Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`.
   */
  payload?: unknown;
  /** Lower runs first. Default `0`. -32,768 to 32,767. */
  priority?: number;
  /** The same as `expiresAt`, counted from the submission. At most 10 years. In milliseconds. */
  expiresIn?: number;
  /** The most attempts. Default the queue's. 1 to 1,000. */
  maxAttempts?: number;
  /** How long the job waits after a failed attempt. Default the queue's. */
  retry?: RetryPolicy;
  /** The length of a lease. Default the queue's. 1,000 to 86,400,000 ms. */
  lease?: number;
  /**
   * The bound on one attempt, however often it is extended. Default none. At most 10 years. In
   * milliseconds.
   */
  timeout?: number;
  /** Allows one job for each key within the queue. */
  unique?: Unique;
  /** Names to find the job by. Default `[]`. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. Default `{}`. */
  meta?: Record<string, string>;
  /** W3C trace context. At most 512 characters. */
  traceparent?: string;
  /** W3C trace state, which goes with it. At most 512 characters. */
  tracestate?: string;
  /**
   * The limits that a job must pass to start, its queue's included; each name once. `key` is
   * required if the limit counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
   * submission; priority does not count among them. 1 to 128 characters.
   */
  orderKey?: string;
  orderOnFailure?: OrderOnFailure;
  /**
   * The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
   * characters.
   */
  fairKey?: string;
}

/**
 * A schedule's specification. It needs exactly one of `cron` and `every`: none is a fault at
 * `/cron`, both are a fault at `/every`. It needs exactly one of `job` and `workflow`, too: none is
 * a fault at `/job`, both are a fault at `/workflow`.
 */
export interface ScheduleSpec {
  /** The job to submit at each instant. */
  job: ScheduleJobSpec;
  /**
   * The workflow to create at each instant, in place of a job: at most 64 KiB, and its jobs 128 KiB
   * with their defaults. `id`, `unique`, `open` and the `runAt` of a job are 422.
   */
  workflow?: WorkflowSpec;
  /** No instant is before it. Default none. */
  startAt?: TimeInput | null;
  /** No instant is after it; then the schedule is `ended`. Not before `startAt`. Default none. */
  endAt?: TimeInput | null;
  /**
   * Whether the schedule is paused. If left out, a new schedule is not paused, and an existing one
   * stays as it is. Default `false`.
   */
  paused?: boolean;
  /**
   * The owner: a name that `PUT /v1/schedules` and filters of lists use. In a set it may be left
   * out, or be the set's. Default none. 1 to 128 characters.
   */
  managedBy?: string | null;
  /**
   * Five fields (minute, hour, day of month, month, day of week), or six with the second first. A
   * field is a list of `*`, numbers, names (`JAN`, `MON`), ranges (`9-17`) and steps (`0-59/15`).
   * Days of month may be `L` (the last), `15W` (the working day nearest the 15th) and `LW`; days of
   * week `5#3` (the third Friday) and `5L` (the last Friday): 0 and 7 are Sunday, 5 is Friday. `?`
   * is `*`. Or `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly`. If day of month or day of
   * week begins with `*`, a day must match both, else either. An expression that never comes is
   * refused. At most 512 bytes.
   */
  cron?: string | null;
  /**
   * The interval, at most 10 years. The instants are its whole multiples, counted from `startAt`,
   * else from the Unix epoch: a restart or an edit moves none. In milliseconds.
   */
  every?: number | null;
  /** The IANA name of the zone whose clock `cron` follows. Default `UTC`. 1 to 64 characters. */
  timezone?: string;
  /**
   * How much later than its instant a job may come. The delay follows from the schedule and the
   * instant. It must be less than the gap between an instant and the next. Default `0`. 0 to
   * 86,400,000 ms.
   */
  jitter?: number;
  /**
   * An instant that could not be fired for longer than this is missed, and `missed` decides on it.
   * Before that it is only late, and fires. Default `60000`. 1,000 to 86,400,000 ms.
   */
  missedAfter?: number;
  /**
   * The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as
   * `missedLimit`. Default `one`.
   */
  missed?: MissedPolicy;
  /**
   * With `missed` `all`, how many instants fire: the newest. The older ones are one entry of the
   * runs, with a count. Default `100`. 1 to 1,000.
   */
  missedLimit?: number;
  /**
   * What happens at an instant while the job or workflow of the instant before has not ended:
   * `allow` the new job beside it, `skip` the instant, `queue` it (one waits until the job has
   * ended, later ones are skipped), or `replace` the job: cancel it, and submit the new one when it
   * has ended. Default `allow`.
   */
  overlap?: OverlapPolicy;
  /**
   * The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
   * Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
   * time, and a gap has none. Default `run`.
   */
  dstGap?: DstGap;
  /**
   * The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only
   * for expressions whose minute and hour do not begin with `*`: the others follow elapsed time,
   * and are due both times. Default `once`.
   */
  dstOverlap?: DstOverlap;
}

/**
 * The job as it was given, with its queue; a member that was left out may be left out here.
 * `payload` comes back byte for byte.
 */
export interface ScheduleJob {
  /** The type, which decides who runs the jobs. */
  type: string;
  /**
   * The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out,
   * `default`.
   */
  queue: string;
  expiresAt?: string;
  /**
   * The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
   * are null, `message` of an error or a log line is empty. Always `true`.
   */
  redacted?: boolean;
  /**
   * Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`.
   */
  payload?: unknown;
  /** Lower runs first. Default `0`. -32,768 to 32,767. */
  priority?: number;
  /** The same as `expiresAt`, counted from the submission. At most 10 years. In milliseconds. */
  expiresIn?: number;
  /** The most attempts. Default the queue's. 1 to 1,000. */
  maxAttempts?: number;
  /** How long the job waits after a failed attempt. Default the queue's. */
  retry?: RetryPolicy;
  /** The length of a lease. Default the queue's. 1,000 to 86,400,000 ms. */
  lease?: number;
  /**
   * The bound on one attempt, however often it is extended. Default none. At most 10 years. In
   * milliseconds.
   */
  timeout?: number;
  /** Allows one job for each key within the queue. */
  unique?: Unique;
  /** Names to find the job by. Default `[]`. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. Default `{}`. */
  meta?: Record<string, string>;
  /** W3C trace context. At most 512 characters. */
  traceparent?: string;
  /** W3C trace state, which goes with it. At most 512 characters. */
  tracestate?: string;
  /**
   * The limits that a job must pass to start, its queue's included; each name once. `key` is
   * required if the limit counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
   * submission; priority does not count among them. 1 to 128 characters.
   */
  orderKey?: string;
  orderOnFailure?: OrderOnFailure;
  /**
   * The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
   * characters.
   */
  fairKey?: string;
}

export interface ScheduleMember {
  /** The job, with what `defaults` gave it. */
  job: MemberJob;
  /** The name by which other members name this one. Left out if it has none. */
  ref?: string;
  /** What the member waits for. Left out if it waits for nothing. */
  needs?: Need[];
  /** The first need that is met releases it. Left out if false. */
  needsAny?: boolean;
}

/**
 * The workflow as it was given, with its defaults applied to its jobs; a member that was left out
 * may be left out here.
 */
export interface ScheduleWorkflow {
  /** The queue of the workflow itself. */
  queue: string;
  members: ScheduleMember[];
  onMemberFailed: OnMemberFailed;
  /** Whether the members' jobs stay until the workflow goes. */
  keepMembers: boolean;
  /** What it is, for people. */
  name?: string;
  /** Names to find its workflows by. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. */
  meta?: Record<string, string>;
  /** The job to submit when the workflow has succeeded. */
  onSuccess?: MemberJob;
  /** The job to submit when it has failed or was cancelled. */
  onFailure?: MemberJob;
  /** The job to submit when it has ended. */
  onEnd?: MemberJob;
  /** The most members that are active at once. 1 to 1,000,000. */
  maxActive?: number;
  /**
   * After this time of a generation it stops as if cancelled, and has failed. At most 10 years. In
   * milliseconds.
   */
  timeout?: number;
  /** The ref of a member, whose result is the workflow's. */
  resultFrom?: string;
}

export interface NeedSpec {
  /** The ref of another member. */
  ref: string;
  /** The end that is waited for. Default `succeeded`. */
  on?: NeedOn;
}

/**
 * A submission without `id`, `unique` and `expiresAt`: they are 422. Its `delay` and `expiresIn`
 * count from its release. Default queue: that of the workflow.
 */
export interface MemberJobSpec {
  /** The type, which decides who runs the job. Required, unless `defaults` has it. */
  type?: string;
  /** The earliest start; not together with `delay`. */
  runAt?: TimeInput;
  /** The same, counted from the release. At most 10 years. In milliseconds. */
  delay?: number;
  /**
   * The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out,
   * `default`.
   */
  queue?: string;
  /**
   * Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`.
   */
  payload?: unknown;
  /** Lower runs first. Default `0`. -32,768 to 32,767. */
  priority?: number;
  /** The same as `expiresAt`, counted from the submission. At most 10 years. In milliseconds. */
  expiresIn?: number;
  /** The most attempts. Default the queue's. 1 to 1,000. */
  maxAttempts?: number;
  /** How long the job waits after a failed attempt. Default the queue's. */
  retry?: RetryPolicy;
  /** The length of a lease. Default the queue's. 1,000 to 86,400,000 ms. */
  lease?: number;
  /**
   * The bound on one attempt, however often it is extended. Default none. At most 10 years. In
   * milliseconds.
   */
  timeout?: number;
  /** Allows one job for each key within the queue. */
  unique?: Unique;
  /** Names to find the job by. Default `[]`. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. Default `{}`. */
  meta?: Record<string, string>;
  /** W3C trace context. At most 512 characters. */
  traceparent?: string;
  /** W3C trace state, which goes with it. At most 512 characters. */
  tracestate?: string;
  /**
   * The limits that a job must pass to start, its queue's included; each name once. `key` is
   * required if the limit counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
   * submission; priority does not count among them. 1 to 128 characters.
   */
  orderKey?: string;
  orderOnFailure?: OrderOnFailure;
  /**
   * The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
   * characters.
   */
  fairKey?: string;
}

export interface NewMember {
  job: MemberJobSpec;
  /** A name by which other members and calls name this one. */
  ref?: string;
  /**
   * What the member waits for; a ref alone stands for an object with it. Default `[]`: the member
   * starts at once. At most 1,000 entries.
   */
  needs?: (NeedSpec | string)[];
  /** The first need that is met releases it. Default `false`. */
  needsAny?: boolean;
}

export interface WorkflowUniqueSpec {
  /** One workflow for each key within the queue, until it ends. 1 to 255 characters. */
  key: string;
  /** `return` the holder, or `reject` with 409 `duplicate_workflow`. Default `return`. */
  onConflict?: "return" | "reject";
}

export interface WorkflowSpec {
  /**
   * The queue of the workflow itself, by which tokens see it and retention keeps it. Default
   * `default`.
   */
  queue?: string;
  /**
   * A UUIDv7 that the client makes, whose third group has the first 12 bits of SHA-256 of the
   * queue's name. If it is left out, the server makes one.
   */
  id?: string;
  /** What it is, for people. */
  name?: string;
  /** Names to find the workflow by. Default `[]`. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. Default `{}`. */
  meta?: Record<string, string>;
  /** Members for the jobs of this request that do not name them. */
  defaults?: MemberJobSpec;
  /** Default `[]`. A closed workflow without members succeeds at once. At most 10,000 entries. */
  members?: NewMember[];
  /** It takes more members, and ends only after it is closed. Default `false`. */
  open?: boolean;
  /** What a member's failure does. Default `continue`. */
  onMemberFailed?: OnMemberFailed;
  /** A job to submit when the workflow has succeeded. */
  onSuccess?: MemberJobSpec;
  /** A job to submit when it has failed or was cancelled. */
  onFailure?: MemberJobSpec;
  /** A job to submit when it has ended. */
  onEnd?: MemberJobSpec;
  /** The most members that are active at once. Default no bound. 1 to 1,000,000. */
  maxActive?: number;
  /**
   * After this time of a generation it stops as if cancelled, and has failed. Default none. At most
   * 10 years. In milliseconds.
   */
  timeout?: number;
  /** The ref of a member, whose result is the workflow's. */
  resultFrom?: string;
  /**
   * Keep the members' jobs until the workflow goes, whatever their queues' retention is. Default
   * `true`.
   */
  keepMembers?: boolean;
  /** Allows one workflow for each key. */
  unique?: WorkflowUniqueSpec;
}

export interface MembersAnswer {
  /** How many members were added. */
  added: number;
  /** How many were there already. */
  existing: number;
  /** How many the workflow has now. */
  members: number;
}

/** The number of members by state. */
export interface MemberCounts {
  blocked: number;
  active: number;
  succeeded: number;
  failed: number;
  skipped: number;
}

/** The ids of the callbacks' jobs, once they are submitted. */
export interface WorkflowCallbacks {
  onSuccess?: string;
  onFailure?: string;
  onEnd?: string;
}

export interface WorkflowUnique {
  key: string;
}

export interface Workflow {
  /** A UUIDv7. */
  id: string;
  name: string | null;
  /** The queue of the workflow itself. */
  queue: string;
  state: WorkflowState;
  /** Why it stops, or has failed; null if it does not. */
  reason: "member_failed" | "cancelled" | "timeout" | null;
  /** Grows with each retry after the end. */
  generation: number;
  /** Grows with each change of the workflow itself, not with those of its members. */
  version: number;
  /** Whether it takes members from outside. */
  open: boolean;
  createdAt: string;
  /** When this generation times out; null if it does not. */
  timeoutAt: string | null;
  /** Null until it has ended. */
  endedAt: string | null;
  /** The number of members. */
  members: number;
  counts: MemberCounts;
  callbacks: WorkflowCallbacks;
  /** At most 32 entries. */
  tags: string[];
  /** The client's own strings, at most 8 KiB. */
  meta: Record<string, string>;
  onMemberFailed: OnMemberFailed;
  /** Null if there is no bound. */
  maxActive: number | null;
  /** Null if there is none. In milliseconds. */
  timeout: number | null;
  /** The ref of the member whose result is the workflow's; null if there is none. */
  resultFrom: string | null;
  /** Whether the members' jobs stay until the workflow goes. */
  keepMembers: boolean;
  /** Null if it has no unique key. */
  unique: WorkflowUnique | null;
  /** As the cancellation gave it. Left out if it gave none. */
  cancelReason?: string;
  /** With `include=result`; null until there is one. */
  result?: unknown;
  /**
   * Jobs of queues that the token does not open, or results that it may not see, are left out.
   * Always `true`.
   */
  redacted?: boolean;
}

export interface Member {
  /** Its place in the workflow, from 0. */
  number: number;
  /** Null if it has none. */
  ref: string | null;
  state: MemberState;
  reason: MemberReason | null;
  /** How often it was released. */
  generation: number;
  /** The queue of its job. Left out, as is what follows, if the token does not open it. */
  queue?: string;
  /** Null until it is released. */
  jobId?: string | null;
  /** With `include=job`, unless there is none. */
  job?: Job;
  /** With `include=result`; null if there is none. */
  result?: unknown;
  /**
   * Jobs of queues that the token does not open, or results that it may not see, are left out.
   * Always `true`.
   */
  redacted?: boolean;
}

export interface Need {
  /** The ref of another member, or `@` and its number. 1 to 128 characters. */
  ref: string;
  on: NeedOn;
}

export interface MemberDetail {
  needs: Need[];
  /** Whether the first need that is met releases it. */
  needsAny: boolean;
  /** Needs that have not ended, at most 20. */
  waitsFor: string[];
  /** Its place in the workflow, from 0. */
  number: number;
  /** Null if it has none. */
  ref: string | null;
  state: MemberState;
  reason: MemberReason | null;
  /** How often it was released. */
  generation: number;
  /** The job as it was given. Left out if the token does not open its queue. */
  definition?: MemberJob;
  /** The queue of its job. Left out, as is what follows, if the token does not open it. */
  queue?: string;
  /** Null until it is released. */
  jobId?: string | null;
  /** With `include=job`, unless there is none. */
  job?: Job;
  /** With `include=result`; null if there is none. */
  result?: unknown;
  /**
   * Jobs of queues that the token does not open, or results that it may not see, are left out.
   * Always `true`.
   */
  redacted?: boolean;
}

export interface MemberJob {
  /** The type, which decides who runs the jobs. */
  type: string;
  /**
   * The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out,
   * `default`.
   */
  queue: string;
  runAt?: string;
  /** From its release. At most 10 years. In milliseconds. */
  delay?: number;
  expiresAt?: string;
  /**
   * The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack`
   * are null, `message` of an error or a log line is empty. Always `true`.
   */
  redacted?: boolean;
  /**
   * Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`.
   */
  payload?: unknown;
  /** Lower runs first. Default `0`. -32,768 to 32,767. */
  priority?: number;
  /** The same as `expiresAt`, counted from the submission. At most 10 years. In milliseconds. */
  expiresIn?: number;
  /** The most attempts. Default the queue's. 1 to 1,000. */
  maxAttempts?: number;
  /** How long the job waits after a failed attempt. Default the queue's. */
  retry?: RetryPolicy;
  /** The length of a lease. Default the queue's. 1,000 to 86,400,000 ms. */
  lease?: number;
  /**
   * The bound on one attempt, however often it is extended. Default none. At most 10 years. In
   * milliseconds.
   */
  timeout?: number;
  /** Allows one job for each key within the queue. */
  unique?: Unique;
  /** Names to find the job by. Default `[]`. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. Default `{}`. */
  meta?: Record<string, string>;
  /** W3C trace context. At most 512 characters. */
  traceparent?: string;
  /** W3C trace state, which goes with it. At most 512 characters. */
  tracestate?: string;
  /**
   * The limits that a job must pass to start, its queue's included; each name once. `key` is
   * required if the limit counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
   * submission; priority does not count among them. 1 to 128 characters.
   */
  orderKey?: string;
  orderOnFailure?: OrderOnFailure;
  /**
   * The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
   * characters.
   */
  fairKey?: string;
}

export interface GraphLine {
  number: number;
  /** Null if it has none. */
  ref: string | null;
  /** What the member is. */
  kind: "job";
  state: MemberState;
  needs: Need[];
}

/** The members depend on the code. */
export interface WorkflowBlocking {
  /**
   * `open`: it is not closed. `active`: members have jobs that have not ended. `maxActive`: members
   * wait, because as many as that are active. `releasing`: members are about to be submitted.
   * `in_transit`: jobs are on the way to another shard. `overloaded`: the server's memory is full.
   * `ended`: the workflow has.
   */
  code: "open" | "active" | "max_active" | "releasing" | "in_transit" | "overloaded" | "ended";
  /** The shard to which the jobs are on the way. */
  shard?: number;
  /** How many. */
  count?: number;
  /** The first 20 of them. Left out for a token that is limited to queues. */
  jobs?: string[];
}

export interface WorkflowWhy {
  id: string;
  state: WorkflowState;
  at: string;
  /** Sentences for a person. */
  summary: string;
  blocking: WorkflowBlocking[];
  /**
   * Jobs of queues that the token does not open, or results that it may not see, are left out.
   * Always `true`.
   */
  redacted?: boolean;
}

/** The workflow that the job belongs to. */
export interface WorkflowOfJob {
  id: string;
  /** The workflow's; null if it has none. */
  name: string | null;
  /** The member's; null if it has none. */
  ref: string | null;
  /** The member's; null for a callback. */
  number: number | null;
  role: MemberRole;
}

export interface WorkflowOfClaim {
  /** The workflow's. */
  generation: number;
  /** The workflow's when the job was submitted. */
  state: WorkflowState;
  id: string;
  /** The workflow's; null if it has none. */
  name: string | null;
  /** The member's; null if it has none. */
  ref: string | null;
  /** The member's; null for a callback. */
  number: number | null;
  role: MemberRole;
  /** For a callback, the number of members by state. */
  counts?: MemberCounts;
  /** For a callback, refs of members that failed, at most 20. */
  failed?: string[];
}

/** A member that the job's member needs, as it ended. */
export interface Parent {
  /** Its job; null if it never had one. */
  id: string | null;
  state: MemberState;
  reason: MemberReason | null;
  /** If it succeeded. Together at most 1 MiB with a job. */
  result?: unknown;
  /** Why the result is left out: `size`, or `unreachable` for now, or its job is `pruned`. */
  omitted?: "size" | "unreachable" | "pruned";
}

export interface Schedule {
  /** The schedule's name. */
  name: string;
  /** The job that it submits, as it was given. Left out if it creates workflows. */
  job: ScheduleJob;
  /** No instant is before it. */
  startAt: string | null;
  /** No instant is after it. */
  endAt: string | null;
  /** Whether somebody has paused it. */
  paused: boolean;
  /** The owner; null if it has none. */
  managedBy: string | null;
  /**
   * Rises with every change of the specification, pause or resume; `ETag` and `If-Match` carry it.
   * Firing leaves it alone.
   */
  version: number;
  /**
   * `ended`: no instant is left. `broken`: the server can't compute the instants, and `error` says
   * why; the schedule does not fire until that is fixed.
   */
  state: "active" | "paused" | "ended" | "broken";
  /** The reason of the pause; null if it is not paused, or none was given. */
  reason: string | null;
  /** Why it is `broken` (say, a zone that is no longer there); else null. */
  error: string | null;
  /** When it was made. */
  createdAt: string;
  /** The last change of `version`. */
  updatedAt: string;
  /** The newest instant that made a job or workflow; null before the first. */
  lastScheduledAt: string | null;
  /**
   * The job of `lastScheduledAt`, which the queue may have forgotten; null before the first, and if
   * that was a workflow.
   */
  lastJobId: string | null;
  /**
   * The next instants, at most five, without jitter. For a paused schedule, those that it would
   * have; none if it is `ended` or `broken`. At most 5 entries.
   */
  next: string[];
  /** The schedule in words. */
  description: string;
  /**
   * Five fields (minute, hour, day of month, month, day of week), or six with the second first. A
   * field is a list of `*`, numbers, names (`JAN`, `MON`), ranges (`9-17`) and steps (`0-59/15`).
   * Days of month may be `L` (the last), `15W` (the working day nearest the 15th) and `LW`; days of
   * week `5#3` (the third Friday) and `5L` (the last Friday): 0 and 7 are Sunday, 5 is Friday. `?`
   * is `*`. Or `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly`. If day of month or day of
   * week begins with `*`, a day must match both, else either. An expression that never comes is
   * refused. At most 512 bytes.
   */
  cron: string | null;
  /**
   * The interval, at most 10 years. The instants are its whole multiples, counted from `startAt`,
   * else from the Unix epoch: a restart or an edit moves none. In milliseconds.
   */
  every: number | null;
  /** The IANA name of the zone whose clock `cron` follows. Default `UTC`. 1 to 64 characters. */
  timezone: string;
  /**
   * How much later than its instant a job may come. The delay follows from the schedule and the
   * instant. It must be less than the gap between an instant and the next. Default `0`. 0 to
   * 86,400,000 ms.
   */
  jitter: number;
  /**
   * An instant that could not be fired for longer than this is missed, and `missed` decides on it.
   * Before that it is only late, and fires. Default `60000`. 1,000 to 86,400,000 ms.
   */
  missedAfter: number;
  /**
   * The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as
   * `missedLimit`. Default `one`.
   */
  missed: MissedPolicy;
  /**
   * With `missed` `all`, how many instants fire: the newest. The older ones are one entry of the
   * runs, with a count. Default `100`. 1 to 1,000.
   */
  missedLimit: number;
  /**
   * What happens at an instant while the job or workflow of the instant before has not ended:
   * `allow` the new job beside it, `skip` the instant, `queue` it (one waits until the job has
   * ended, later ones are skipped), or `replace` the job: cancel it, and submit the new one when it
   * has ended. Default `allow`.
   */
  overlap: OverlapPolicy;
  /**
   * The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
   * Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
   * time, and a gap has none. Default `run`.
   */
  dstGap: DstGap;
  /**
   * The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only
   * for expressions whose minute and hour do not begin with `*`: the others follow elapsed time,
   * and are due both times. Default `once`.
   */
  dstOverlap: DstOverlap;
  /** The workflow that it creates, as it was given. Left out if it submits jobs. */
  workflow?: ScheduleWorkflow;
  /** The workflow of `lastScheduledAt`. Left out if there is none. */
  lastWorkflowId?: string;
  /**
   * Sentences about settings that are valid but probably mistakes, and one that begins with
   * `delayed` if the server has no room to fire it. Left out if there are none.
   */
  warnings?: string[];
}

export interface ScheduleSet {
  /** The owner of the set. */
  managedBy: string;
  /** The specifications, by name; at most 10,000. */
  schedules: Record<string, ScheduleSpec>;
  /** Delete the owner's schedules that the set does not name. Default `false`. */
  prune?: boolean;
  /** Answer as if it were done, and do nothing. Default `false`. */
  dryRun?: boolean;
  /** Take over schedules of other owners. Default `false`. */
  force?: boolean;
}

export interface ScheduleSetAnswer {
  /** Schedules that are new. */
  created: string[];
  /** Schedules that were changed. */
  updated: string[];
  /** Schedules that needed no change. */
  unchanged: string[];
  /** The owner's schedules that the set does not name, with `prune`. */
  deleted: string[];
}

/** Exactly one of `cron` and `every` is needed, as in a schedule. */
export interface PreviewRequest {
  /** As of a schedule. At most 512 characters. */
  cron?: string | null;
  /** As of a schedule, counted from the Unix epoch. At most 10 years. In milliseconds. */
  every?: number | null;
  /** The IANA name of the zone. Default `UTC`. 1 to 64 characters. */
  timezone?: string;
  /** The instants at this time or later. Default now. */
  from?: TimeInput;
  /** How many instants to show, at most. Default `5`. 1 to 1,000. */
  count?: number;
  /**
   * The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`.
   * Only for expressions whose minute and hour do not begin with `*`: the others follow elapsed
   * time, and a gap has none. Default `run`.
   */
  dstGap?: DstGap;
  /**
   * The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only
   * for expressions whose minute and hour do not begin with `*`: the others follow elapsed time,
   * and are due both times. Default `once`.
   */
  dstOverlap?: DstOverlap;
}

export interface Preview {
  /** The schedule in words. */
  description: string;
  /** The instants, oldest first. At most 1,000 entries. */
  next: string[];
  /**
   * As for a schedule; also the effect of clock changes within a year on times of day. Left out if
   * there are none.
   */
  warnings?: string[];
}

export interface BackfillRequest {
  /** The instants at this time or later. It must be before `to`. */
  from: TimeInput;
  /** The instants before this time. It must not be later than now. */
  to: TimeInput;
  /** The most jobs to submit in this call. Default `1000`. */
  limit?: number;
  /** Count only; `limit` bounds the count as it would the jobs. Default `false`. */
  dryRun?: boolean;
  /**
   * Also instants from before the queue's retention: those that have run, and whose jobs the queue
   * has forgotten, run again. Default `false`.
   */
  rerun?: boolean;
}

export interface BackfillAnswer {
  /** The number of new jobs. 0 to 1,000. */
  submitted: number;
  /** The number of instants passed over, since their job still exists. */
  existing: number;
  /** Whether instants of the range are left. */
  more: boolean;
}

export interface Run {
  /** The instant; with `count`, the newest of them. */
  scheduledAt: string;
  /** When this was decided. */
  at: string;
  /** The job, if one was submitted; else null. */
  jobId: string | null;
  /**
   * `submitted`: a job or workflow was made. `replaced`: a job was made after the previous one was
   * cancelled. `skipped_overlap`: no job, because of `overlap`; also if the instant waited and a
   * later one replaced it. `skipped_missed`: no job, because the instant was missed and `missed`
   * skips it. `refused`: the job could not be submitted, for instance because the queue was full.
   * The schedule retries it until the next instant, and only then makes this entry.
   */
  outcome: "submitted" | "skipped_overlap" | "skipped_missed" | "replaced" | "refused";
  /** The workflow, if one was created. Left out if none was. */
  workflowId?: string;
  /** With `skipped_missed`, how many instants the entry stands for, if not one. */
  count?: number;
  /** With `refused`, why. */
  error?: string;
}

export interface Percentiles {
  /** Milliseconds; null if nothing ran. */
  p50: (number | null)[];
  /** Milliseconds; null if nothing ran. */
  p95: (number | null)[];
  /** Milliseconds; null if nothing ran. */
  p99: (number | null)[];
}

export interface StatsGroup {
  submitted: number[];
  started: number[];
  succeeded: number[];
  failed: number[];
  dead: number[];
  /** Time from due to started. */
  wait: Percentiles;
  /** Time from started to the end of the attempt. */
  run: Percentiles;
  /** With `by=queue`; null of the group `others`. */
  queue?: string | null;
  /** With `by=type`; null of the group `others`. */
  type?: string | null;
  /** With `by=fair_key`; null of the group `others`. */
  fairKey?: string | null;
  /** With `by=tag`; null of the group `others`. */
  tag?: string | null;
  /** The sum of all that have no group of their own. `true`, or absent. */
  others?: boolean;
}

export interface Deploy {
  at: string;
  type: string | null;
  version: string;
  workerSdk: string | null;
}

export interface StatsGap {
  from: string;
  to: string;
}

export interface Stats {
  from: string;
  /** In milliseconds. */
  step: number;
  groups: StatsGroup[];
  /**
   * Versions of workers that were first seen within the window. With `by=type` each entry is for a
   * type of job that the version ran.
   */
  deploys: Deploy[];
  /** Periods without data, because the log no longer had them. */
  gaps: StatsGap[];
  asOf: string;
}

export interface JobEvent {
  /** A position, opaque. */
  id: string;
  /** When it happened. */
  at: string;
  /** What happened. */
  type: EventType;
  /** The queue's name, if it is about one. */
  queue: string | null;
  /** The job's id, if it is about one. */
  jobId: string | null;
  /** The job's type. */
  jobType: string | null;
  /** The attempt's number. */
  attempt: number | null;
  /** The worker's name. */
  worker: string | null;
  /** What else is known, by the type of the event. */
  data: Record<string, unknown>;
}
