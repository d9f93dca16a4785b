// Made by tools/types from docs/reference/openapi.yaml; do not edit.

export const kStates = [
  "scheduled",
  "ready",
  "running",
  "retrying",
  "blocked",
  "succeeded",
  "dead",
  "cancelled",
  "expired",
] as const;
/**
 * `scheduled` waits for `run_at`, `retrying` for its backoff, `blocked` for other jobs. Terminal are `succeeded`,
 * `dead`, `cancelled` and `expired` (not started before `expires_at`).
 */
export type JobState = (typeof kStates)[number];

/** `hold`: while the job waits for its next attempt, its successors wait too. `pass`: they run. Default `hold`. */
export type OrderOnFailure = "hold" | "pass";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Null without a breaker. */
export type BreakerState = "closed" | "open" | "half_open";

/** The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as `missed_limit`. */
export type MissedPolicy = "skip" | "one" | "all";

/**
 * What happens at an instant while the job or workflow of the instant before has not ended: `allow` the new job beside
 * it, `skip` the instant, `queue` it (one waits until the job has ended, later ones are skipped), or `replace` the job:
 * cancel it, and submit the new one when it has ended.
 */
export type OverlapPolicy = "allow" | "skip" | "queue" | "replace";

/**
 * The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`. Only for expressions
 * whose minute and hour do not begin with `*`: the others follow elapsed time, and a gap has none.
 */
export type DstGap = "run" | "skip";

/**
 * The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only for expressions whose
 * minute and hour do not begin with `*`: the others follow elapsed time, and are due both times.
 */
export type DstOverlap = "once" | "twice";

/**
 * `stopping`: nothing more is released, and running jobs are told. `succeeded`, `failed` and `cancelled` are final; a
 * retry brings a failed or cancelled workflow back. No workflow has the states `compensating` and `stuck` yet.
 */
export type WorkflowState = "running" | "stopping" | "compensating" | "stuck" | "succeeded" | "failed" | "cancelled";

/**
 * `blocked` waits for what it needs; `active` has a job that has not ended. `skipped`: a need can't be met any more,
 * the workflow stopped, or a call skipped it.
 */
export type MemberState = "blocked" | "active" | "succeeded" | "failed" | "skipped";

/**
 * Why a member has failed or was skipped; null if nothing is known. `refused`: its job was, at its release. `by_call`:
 * a call, or the ack of a member that it needs, skipped it. `growth_refused`: its job succeeded, and the workflow
 * refused what the ack added.
 */
export type MemberReason = "dead" | "expired" | "cancelled" | "deleted" | "refused" | "by_call" | "growth_refused";

/** `failed`: a member that is released so catches the failure. `ended`: succeeded, failed or skipped. */
export type NeedOn = "succeeded" | "failed" | "ended";

/**
 * `continue`: what hangs on it is skipped. `stop`: once nothing can catch it, what waits is skipped, and running jobs
 * are cancelled. `ignore`: as `continue`, but the workflow succeeds.
 */
export type OnMemberFailed = "continue" | "stop" | "ignore";

/** Whether the job is a member's, or one that the end of the workflow submitted. */
export type MemberRole = "member" | "callback";

/** What a finding says. [findings.md](findings.md) explains each; a newer server may send others. */
export type FindingCode =
  | "all_paused"
  | "queue_paused"
  | "queue_without_workers"
  | "queue_behind"
  | "queue_full"
  | "type_untaken"
  | "worker_silent"
  | "gate_paused"
  | "gate_full"
  | "limit_stuck"
  | "limit_cost"
  | "type_dies"
  | "type_fails"
  | "poison_crashes"
  | "poison_retries"
  | "poison_dead"
  | "schedule_broken"
  | "schedule_late"
  | "schedule_refused"
  | "schedule_skips"
  | "schedule_paused"
  | "schedule_ended"
  | "workflow_idle"
  | "workflow_late_success"
  | "push_failing"
  | "push_paused"
  | "token_expires"
  | "check_fails"
  | "cannot_write"
  | "disk_full"
  | "slow_syncs"
  | "memory_short"
  | "tables_behind"
  | "clock_changed"
  | "certificate_expires"
  | "database_silent"
  | "database_clock"
  | "database_connections"
  | "transaction_open"
  | "transaction_prepared"
  | "versions_differ"
  | "shard_without_leader"
  | "node_gone";

/**
 * `bad`: work has stopped, or data may be lost soon; `warn`: somebody should look; `note`: worth knowing, and no fault.
 */
export type FindingSeverity = "bad" | "warn" | "note";

/** `errors` is the failures by type and by group; `node` the answering node; `cluster` the nodes together. */
export type FindingArea =
  | "queues"
  | "workers"
  | "limits"
  | "errors"
  | "schedules"
  | "workflows"
  | "push_targets"
  | "tokens"
  | "node"
  | "cluster";

export type ErrorGroupStatus = "open" | "muted" | "resolved";

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

export type TokenScope = "submit" | "work" | "read" | "operate" | "admin" | "payload";

export interface BatchAnswer {
  results: SubmitResult[];
}

export interface ClaimAnswer {
  jobs: ClaimedJob[];
}

export interface HeartbeatAnswer {
  results: HeartbeatResult[];
}

export interface AckAnswer {
  results: ItemResult[];
}

export interface PurgeAnswer {
  deleted: number;
}

export interface Liveness {
  status: "ok";
}

export interface ReprojectAnswer {
  operation: Operation;
  shards: number;
  requested_at: string;
}

export interface BackupAnswer {
  path: string;
  /** The size of the copy. */
  bytes: number;
}

export interface TokenList {
  items: TokenInfo[];
  /** URL-safe; null on the last page. */
  next_cursor: string | null;
}

export interface Session {
  /** The server has tokens, so a call needs one. */
  required: boolean;
  signed_in: boolean;
  /** The token's; null without one. */
  name: string | null;
  scopes: TokenScope[];
  /** Globs; null means all. */
  queues: string[] | null;
  /** The token's end; null means never. */
  expires_at: string | null;
  /** The value of `X-Millrace-Guard` for changes that use the cookie; null without a cookie. */
  guard: string | null;
}

export interface AuditActor {
  /** The token's id. Null if the request had none. */
  token: string | null;
  /** The token's name. */
  name: string | null;
  /** Where the request came from. */
  address: string | null;
  /** `dashboard` is a session of a browser, `sql` a function of the database, `system` the server itself. */
  via: "http" | "dashboard" | "sql" | "system";
}

export interface AuditObject {
  /** As in `queue`; `jobs` for a call on many. */
  kind: string;
  /** For `jobs`, the filter of the call; empty if it listed ids. */
  name: string;
}

export interface AuditEntry {
  /** The shard, and the entry's number there. */
  id: string;
  at: string;
  actor: AuditActor;
  /** The request's `X-Request-Id`. */
  request_id: string | null;
  /** The action, such as `queue.paused`. */
  action: string;
  object: AuditObject;
  /** A sentence. */
  summary: string;
  /** The members that changed, as they were. Null if there was no such object. */
  before: Record<string, unknown> | null;
  /**
   * The members that changed, as they are since; `jobs` is the number of changed jobs. At most 4 KiB, as is `before`;
   * neither has secrets.
   */
  after: Record<string, unknown> | null;
  /** As the request gave it. */
  reason: string | null;
}

export interface BackoffPolicy {
  /** How the delay grows. */
  strategy: "exponential" | "linear" | "fixed";
  /** The first delay. Default `5000`. At most 10 years. */
  base_ms?: number;
  /** The longest delay. Default `300000`. At most 10 years. */
  max_ms?: number;
  /** The part by which a delay varies either way. Default `0.2`. 0 to 1. */
  jitter?: number;
}

export interface DelaysPolicy {
  /** A list of delays. */
  strategy: "list";
  /** The delay after each attempt; the last one repeats. 1 to 100 entries. */
  delays_ms: number[];
}

/**
 * The delay before attempt n+1 is `base_ms * 2^(n-1)` (exponential), `base_ms * n` (linear) or `base_ms` (fixed), at
 * most `max_ms`, and then changes by up to `jitter` of itself either way. `list` names the delays.
 */
export type RetryPolicy = BackoffPolicy | DelaysPolicy;

/** One job for each key within the queue, while the job is not terminal and for `for_ms` after the submission. */
export interface UniqueInput {
  /** The key. 1 to 255 characters. */
  key: string;
  /** How long the key is held at least. Default until the job has ended. At most 10 years. */
  for_ms?: number;
  /**
   * `return` the holder, `reject` with 409 `duplicate_job`, or `replace`: cancel a waiting holder (a running one is
   * 409). `debounce`: a waiting holder takes the new payload, and starts `delay_ms` after the newest submission (its
   * backoff is never shortened; another type is 409). A running holder lets one new job wait; if it fails without
   * having ended, it is cancelled as `superseded`. With `for_ms`, `return` is a throttle. Default `return`.
   */
  on_conflict?: "return" | "reject" | "replace" | "debounce";
  /** With `debounce`: the longest time from the first submission to the start. At most 10 years. */
  max_wait_ms?: number;
}

/**
 * The limits, the order and the share of a job: members that a submission, a schedule's job and a job have in common.
 */
export interface JobFlow {
  /**
   * The limits that a job must pass to start, its queue's included; each name once. `key` is required if the limit
   * counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of submission; priority does
   * not count among them. 1 to 128 characters.
   */
  order_key?: string;
  order_on_failure?: OrderOnFailure;
  /** The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128 characters. */
  fair_key?: string;
}

/** What every description of a job to submit may have. */
export interface JobOptions extends JobFlow {
  /** The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out, `default`. */
  queue?: string;
  /** Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`. */
  payload?: unknown;
  /** Lower runs first. Default `0`. -32,768 to 32,767. */
  priority?: number;
  /** The same as `expires_at`, counted from the submission. At most 10 years. */
  expires_in_ms?: number;
  /** The most attempts. Default the queue's. 1 to 1,000. */
  max_attempts?: number;
  /** How long the job waits after a failed attempt. Default the queue's. */
  retry?: RetryPolicy;
  /** The length of a lease. Default the queue's. 1,000 to 86,400,000 ms. */
  lease_ms?: number;
  /** The bound on one attempt, however often it is extended. Default none. At most 10 years. */
  timeout_ms?: number;
  /** Allows one job for each key within the queue. */
  unique?: UniqueInput;
  /** Names to find the job by. Default `[]`. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. Default `{}`. */
  meta?: Record<string, string>;
  /** W3C trace context. At most 512 characters. */
  traceparent?: string;
  /** W3C trace state, which goes with it. At most 512 characters. */
  tracestate?: string;
}

export interface Unique {
  /** The key. */
  key: string;
  /** How long the key is held at least; null: until the job has ended. */
  for_ms: number | null;
  /** What another submission with the key does. */
  on_conflict: "return" | "reject" | "replace" | "debounce";
  /** With `debounce`: the longest time from the first submission to the start. */
  max_wait_ms?: number;
}

export interface Job extends JobFlow {
  /** A UUIDv7. */
  id: string;
  /** The queue's name. */
  queue: string;
  /** The type's name. */
  type: string;
  state: JobState;
  /** Lower runs first. -32,768 to 32,767. */
  priority: number;
  /**
   * The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack` are null, `message`
   * of an error or a log line is empty. Always `true`.
   */
  redacted?: boolean;
  /** The number of started attempts, without those that were snoozed or released. */
  attempt: number;
  /** The most attempts. 1 to 1,000. */
  max_attempts: number;
  /** The number of expired leases; at the queue's `max_crashes` the job is dead, `worker_lost`. */
  crashes: number;
  /** Rises with every retry by hand. */
  generation: number;
  /** Rises with every change; `ETag` and `If-Match` carry it. */
  version: number;
  /** When it was submitted. */
  created_at: string;
  /** When it is, or was, due. */
  run_at: string;
  /** When it expires if it has not started; null: never. */
  expires_at: string | null;
  /** The last start. */
  started_at: string | null;
  /** When it ended; null until then. */
  finished_at: string | null;
  /** Null unless running. */
  lease_expires_at: string | null;
  /** The worker's name (see WorkerName); null unless running. */
  worker: string | null;
  /** Whether it was cancelled while it ran. */
  cancel_requested: boolean;
  /** The progress that was reported last; null if none was. */
  progress: Progress | null;
  /** Why the last attempt failed; null if none did. */
  last_error: JobError | null;
  /** Null if the queue's policy applies. */
  retry: RetryPolicy | null;
  /** Null if the queue's length applies. */
  lease_ms: number | null;
  /** The bound on one attempt; null if there is none. */
  timeout_ms: number | null;
  /** Its unique key; null if it has none. */
  unique: Unique | null;
  /** Names to find the job by. At most 32 entries. */
  tags: string[];
  /** The client's own strings, at most 8 KiB. */
  meta: Record<string, string>;
  /** W3C trace context of the submission. Left out if it had none. */
  traceparent?: string;
  /** The schedule that made the job. Left out if none did. */
  schedule?: ScheduleOfJob;
  /** The workflow that the job belongs to. Left out if it belongs to none. */
  workflow?: WorkflowOfJob;
  /** With `include=payload`. */
  payload?: unknown;
  /** With `include=result`; null until there is one. */
  result?: unknown;
  /** With `include=attempts`. */
  attempts?: Attempt[];
  /** With `include=logs`. */
  logs?: LogLine[];
  /** With `include=events`. */
  events?: FeedEvent[];
}

/** The schedule that made the job. Left out if there is none. */
export interface ScheduleOfJob {
  /** The schedule's name. */
  name: string;
  /** The instant that the job is for; the job may come later. */
  scheduled_at: string;
}

/** The rest of a job that retention has removed and whose key still holds. */
export interface PrunedJob {
  id: string;
  state: "pruned";
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
  /** The type that the worker reported, or one of the server's: `lease_expired`, `timeout` or `worker_lost`. */
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
   * The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack` are null, `message`
   * of an error or a log line is empty. Always `true`.
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
  started_at: string;
  /** When it ended; null while it runs. */
  finished_at: string | null;
  /** How it ended. */
  outcome:
    "running" | "succeeded" | "failed" | "snoozed" | "released" | "cancelled" | "dead" | "lease_expired" | "timed_out";
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
   * The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack` are null, `message`
   * of an error or a log line is empty. Always `true`.
   */
  redacted?: boolean;
}

export interface SubmitResult {
  status: number;
  id?: string;
  state?:
    | "scheduled"
    | "ready"
    | "running"
    | "retrying"
    | "blocked"
    | "succeeded"
    | "dead"
    | "cancelled"
    | "expired"
    | "pruned";
  /** The reason of the refusal; pointers are relative to the item. */
  error?: Problem;
}

export interface ItemResult {
  status: number;
  /** Left out if the item had none. */
  id?: string;
  /** The job's state after the call. */
  state?:
    | "scheduled"
    | "ready"
    | "running"
    | "retrying"
    | "blocked"
    | "succeeded"
    | "dead"
    | "cancelled"
    | "expired"
    | "pruned"
    | "deleted";
  error?: Problem;
}

export interface HeartbeatResult {
  status: number;
  /** Left out if the item had none. */
  id?: string;
  expires_at?: string;
  cancel_requested?: boolean;
  error?: Problem;
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
  error_group: string | null;
  state: "running" | "paused" | "completed" | "cancelled" | "failed";
  /**
   * How many jobs matched at the beginning; an estimate. Null if they could not be counted within a second. Of
   * `reproject`, rows of the log, in `done` and `changed` too.
   */
  matched: number | null;
  /** The jobs that had their turn: the sum of `changed` and `failed`. */
  done: number;
  changed: number;
  /** The jobs that were left alone, because they had left their state or because something forbids the action. */
  failed: number;
  /** Jobs a second; null means no bound. 1 to 100,000. */
  rate_per_s: number | null;
  created_at: string;
  /** The name of the token. */
  created_by: string | null;
  updated_at: string;
  /** Null until the operation has ended. */
  ended_at: string | null;
  /** At the rate, or at the pace so far; null if that is not known. */
  estimated_end_at: string | null;
  /** Why the operation failed. */
  reason: string | null;
}

export interface BulkAnswer {
  matched: number;
  changed: number;
  failed: number;
  more: boolean;
  /** With `ids`, in their order. */
  results?: ItemResult[];
}

/** What a worker tells of itself. */
export interface WorkerFacts {
  host?: string | null;
  pid?: number | null;
  sdk?: string | null;
  /** The version of the user's program, not of the SDK. */
  version?: string | null;
  labels?: Record<string, string>;
}

export interface Lease {
  /** Names one lease; rises with every lease of a shard. 0 to 9,007,199,254,740,991. */
  token: number;
  /** When it ends, unless it is extended. */
  expires_at: string;
  /**
   * The lease's length, by which a heartbeat extends it; send one after a third of it. Unlike `expires_at` it depends
   * on no clock. 1,000 to 86,400,000 ms.
   */
  lease_ms: number;
}

export interface ClaimedJob {
  /** A UUIDv7. */
  id: string;
  /** The queue's name. */
  queue: string;
  /** The type's name. */
  type: string;
  /** Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. */
  payload: unknown;
  /** The number of this attempt, from 1. */
  attempt: number;
  /** The most attempts. If this attempt is the last, the job is dead when it fails. 1 to 1,000. */
  max_attempts: number;
  /** The worker's hold on the job, as it was when the job was claimed. */
  lease: Lease;
  /** The time at which the attempt times out, if the job has `timeout_ms`. */
  deadline?: string | null;
  /**
   * The length of the attempt, if it is bounded. A worker measures it by its own monotonic clock, so that its wall
   * clock need not agree with the server's.
   */
  timeout_ms?: number;
  /** Lower runs first. -32,768 to 32,767. */
  priority?: number;
  /** When it was submitted. */
  created_at?: string;
  /** At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. */
  meta: Record<string, string>;
  /** W3C trace context of the submission. */
  traceparent?: string | null;
  /** W3C trace state, which goes with it. */
  tracestate?: string | null;
  /** The schedule that made the job. Left out if none did. */
  schedule?: ScheduleOfJob;
  /** The workflow that the job belongs to. Left out if it belongs to none. */
  workflow?: WorkflowOfClaim;
  /** What the job's member needs. Left out if it needs nothing. */
  parents?: Record<string, Parent>;
  /** The progress that an earlier attempt reported, with its checkpoint. */
  progress?: Progress | null;
}

export interface Command {
  type: "quiet" | "stop" | "cancel";
  /** With `cancel`. */
  job_id?: string;
  /** With `cancel`. 0 to 9,007,199,254,740,991. */
  token?: number;
}

export interface PollAnswer {
  acks: ItemResult[];
  heartbeats: HeartbeatResult[];
  logs: ItemResult[];
  jobs: ClaimedJob[];
  commands: Command[];
}

export interface RunningJob {
  id: string;
  queue: string;
  type: string;
  attempt: number;
  started_at: string;
  lease_expires_at: string;
}

export interface WorkerInfo {
  /**
   * The worker's id; if its token is limited to queues, followed by `~` and the token's id. Use this name to tell the
   * worker to be quiet or to stop.
   */
  id: string;
  queues: string[];
  /** Null if the worker takes every type. */
  types: string[] | null;
  state: "active" | "quiet" | "stopping";
  first_seen_at: string;
  last_seen_at: string;
  running: RunningJob[];
  host: string | null;
  pid: number | null;
  sdk: string | null;
  /** The version of the user's program, not of the SDK. */
  version: string | null;
  labels: Record<string, string>;
}

/**
 * How long the queue keeps terminal jobs; 0 keeps none, null keeps them for ever. Defaults 86,400,000, for `dead_ms`
 * 2,592,000,000. A job is gone within 1 s of its time.
 */
export interface RetentionTimes {
  /** Of jobs that succeeded. Default a day. At most 10 years. */
  succeeded_ms?: number | null;
  /** Of jobs that failed for good. Default 30 days. At most 10 years. */
  dead_ms?: number | null;
  /** Of jobs that were cancelled. Default a day. At most 10 years. */
  cancelled_ms?: number | null;
  /** Of jobs that did not start in time. Default a day. At most 10 years. */
  expired_ms?: number | null;
}

/** The settings of a queue that have the same form in a request and in an answer. */
export interface QueueOptions {
  /** For jobs that do not set their own. Default 5. 1 to 1,000. */
  max_attempts?: number;
  /**
   * A job that loses its worker this many times is dead, `worker_lost`. Default the job's `max_attempts`. 1 to 1,000.
   */
  max_crashes?: number | null;
  /** For jobs that do not set their own. */
  retry?: RetryPolicy;
  /** For jobs and claims that do not set their own. Default 30,000. 1,000 to 86,400,000 ms. */
  lease_ms?: number;
  /** The most ready jobs; beyond it submissions are 429 `queue_full`; null is no bound. */
  max_ready?: number | null;
  /** The most jobs of the queue that run together; null is no bound. 1 to 1,000,000. */
  concurrency?: number | null;
  /** The most jobs that start in each period; null is no bound. */
  rate?: Rate | null;
  /** The breaker for all attempts of the queue; null is none. */
  breaker?: Breaker | null;
  /** If null, fair keys have no effect. Not together with `ageing_ms`. */
  fair?: Fair | null;
  /**
   * A job gains one step of priority for each such time that it waits; null: priorities are strict. Not together with
   * `fair`. A change sorts at most 1,000,000 ready jobs again, and is 409 beyond that. 1,000 to 86,400,000 ms.
   */
  ageing_ms?: number | null;
  /**
   * The most ready jobs of one `fair_key`; beyond it submissions with the key are 429 `key_full`; null is no bound.
   * Only with `fair`.
   */
  max_ready_per_key?: number | null;
}

export interface QueueLimit {
  /** The limit's name. */
  name: string;
  /** The job's key, if the limit counts by key. 1 to 255 characters. */
  key?: string;
  /** The key is the job's own `fair_key`. The limit does not apply to a job without one. */
  key_from?: "fair_key";
  /** Default `1`. 1 to 1,000,000. */
  cost?: number;
}

/**
 * Within one priority of the queue, `fair_key`s get service in proportion to their weights. Jobs without a key share
 * the key `""`.
 */
export interface Fair {
  /** At most 1,000 keys with a weight of their own. */
  weights?: Record<string, number>;
  /** Default `1`. 1 to 1,000. */
  default_weight?: number;
  /** `time`: keys share running time. `starts`: keys share starts. Default `time`. */
  by?: "time" | "starts";
}

export interface Share {
  /** Empty for jobs without a `fair_key`. */
  key: string;
  weight: number;
  running: number;
  /** Ready jobs. */
  waiting: number;
  /** The part of the queue's running time, or starts, in the last minute. 0 to 1. */
  share: number;
}

export interface Retention {
  /** Of jobs that succeeded. Default a day. At most 10 years. */
  succeeded_ms: number | null;
  /** Of jobs that failed for good. Default 30 days. At most 10 years. */
  dead_ms: number | null;
  /** Of jobs that were cancelled. Default a day. At most 10 years. */
  cancelled_ms: number | null;
  /** Of jobs that did not start in time. Default a day. At most 10 years. */
  expired_ms: number | null;
}

export interface QueueSettings {
  /** Added to each job that is submitted to the queue. At most 8 entries. */
  limits: QueueLimit[];
  /** How long ended jobs are kept. */
  retention: Retention;
  /** For jobs that do not set their own. Default 5. 1 to 1,000. */
  max_attempts: number;
  /**
   * A job that loses its worker this many times is dead, `worker_lost`. Default the job's `max_attempts`. 1 to 1,000.
   */
  max_crashes: number | null;
  /** For jobs that do not set their own. */
  retry: RetryPolicy;
  /** For jobs and claims that do not set their own. Default 30,000. 1,000 to 86,400,000 ms. */
  lease_ms: number;
  /** The most ready jobs; beyond it submissions are 429 `queue_full`; null is no bound. */
  max_ready: number | null;
  /** The most jobs of the queue that run together; null is no bound. 1 to 1,000,000. */
  concurrency: number | null;
  /** The most jobs that start in each period; null is no bound. */
  rate: Rate | null;
  /** The breaker for all attempts of the queue; null is none. */
  breaker: Breaker | null;
  /** If null, fair keys have no effect. Not together with `ageing_ms`. */
  fair: Fair | null;
  /**
   * A job gains one step of priority for each such time that it waits; null: priorities are strict. Not together with
   * `fair`. A change sorts at most 1,000,000 ready jobs again, and is 409 beyond that. 1,000 to 86,400,000 ms.
   */
  ageing_ms: number | null;
  /**
   * The most ready jobs of one `fair_key`; beyond it submissions with the key are 429 `key_full`; null is no bound.
   * Only with `fair`.
   */
  max_ready_per_key: number | null;
}

/**
 * If at least `min_attempts` attempts ran in the last `window_ms` and a part of `failure_rate` failed, no job starts
 * for `open_ms`. After that at most `probes` jobs run; that many successes close the breaker, one failure opens it
 * again. Jobs wait meanwhile, and lose no attempts.
 */
export interface Breaker {
  /** The part of attempts that may fail, above 0. At most 1. */
  failure_rate: number;
  /** The fewest attempts that say anything. 1 to 100,000. */
  min_attempts: number;
  /** How far back attempts count. 1,000 to 3,600,000 ms. */
  window_ms: number;
  /** How long nothing starts. 100 to 86,400,000 ms. */
  open_ms: number;
  /** Jobs that run after that; the breaker closes if all succeed. 1 to 1,000. */
  probes: number;
}

/** A token bucket of starts. */
export interface Rate {
  /** Starts in each period. 1 to 1,000,000,000. */
  limit: number;
  /** The period. 1 to 86,400,000 ms. */
  per_ms: number;
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

/** What a gate lets through. */
export interface GateBounds {
  /** The most live leases at a time; null is no bound. 1 to 1,000,000. */
  concurrency?: number | null;
  /** The rate of starts; null is no bound. */
  rate?: Rate | null;
  /** Null is none. */
  breaker?: Breaker | null;
  /** A retry budget: the rate of starts after a job's first; null is no bound. */
  retry_rate?: Rate | null;
}

/** What passes a gate now, and what holds it closed. */
export interface GateState {
  paused: boolean;
  pause_reason: string | null;
  paused_until: string | null;
  /** Live leases. */
  in_use: number;
  /** The number of ready jobs that name it. */
  waiting: number;
  /** When the rate allows the next start; null when it does now, or there is none. */
  next_token_at: string | null;
  breaker_state: BreakerState | null;
  /** When an open breaker lets probes through. */
  open_until: string | null;
  /** The end of a pause, or of a worker's `slow_down`; the later one. */
  blocked_until: string | null;
}

/** The bounds of a limit or of a type, and its state. */
export interface Gate extends GateState {
  /** Rises with every change; `ETag` and `If-Match` carry it. */
  version: number;
  /** The most live leases at a time; null is no bound. 1 to 1,000,000. */
  concurrency: number | null;
  /** The rate of starts; null is no bound. */
  rate: Rate | null;
  /** Null is none. */
  breaker: Breaker | null;
  /** A retry budget: the rate of starts after a job's first; null is no bound. */
  retry_rate: Rate | null;
}

export interface Limit extends Gate {
  name: string;
  per_key: boolean;
  /** Other bounds by key; an absent bound is the same as for every key. */
  keys: Record<string, KeyBound>;
}

export interface TypeGate extends Gate {
  type: string;
}

export interface LimitKey extends GateState {
  /** 1 to 255 characters. */
  key: string;
}

export interface LimitHolder {
  id: string;
  key: string | null;
  worker: string;
  since: string;
}

export interface WhyNote {
  code: "no_worker";
  last_seen?: string;
}

export interface Why {
  id: string;
  state: JobState;
  at: string;
  /** Sentences for a person. */
  summary: string;
  /**
   * Every reason why the job waits, in the order in which a claim meets it. Empty: the next claim of its queue and type
   * gets it.
   */
  blocking: Blocking[];
  /** `no_worker`: nobody has asked for its queue and type for a minute. */
  notes: WhyNote[];
}

/** The members depend on the code. `limit_kind` distinguishes a limit from the gate of a type or of a queue. */
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
  limit_kind?: "limit" | "type" | "queue";
  /** The key of the limit, if only that is closed. */
  key?: string;
  /** The worker that runs the job. */
  worker?: string;
  /** The reason of a pause. */
  reason?: string;
  /** How many slots are taken. */
  in_use?: number;
  /** How many slots there are. */
  concurrency?: number;
  /**
   * For a share: the slots that the job's shard may use, or the burst if the limit has no concurrency. Other shards
   * have the rest.
   */
  have?: number;
  /** For a share: since when the shard has wanted more. */
  wanted_since?: string;
  /** The job that comes first. */
  waits_for?: string;
  /** Up to five jobs that hold it. */
  holders?: string[];
  /** In `blocked_by` of a queue: the number of its ready jobs that wait for the gate. */
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
  available_at?: string;
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
  submitted_per_s: number;
  /** Attempts that began, a second. */
  started_per_s: number;
  /** Attempts that succeeded, a second. */
  succeeded_per_s: number;
  /** Attempts that failed, a second. */
  failed_per_s: number;
}

export interface Queue {
  /** The queue's name. */
  name: string;
  /** Whether the server hands out none of its jobs. */
  paused: boolean;
  /** Why it is paused; null if it is not, or no reason was given. */
  pause_reason: string | null;
  /** The numbers of its jobs, by state. */
  counts: Counts;
  /** How long the oldest ready job has been due; null if none is ready. */
  oldest_ready_age_ms: number | null;
  /** Its rates over the last 60 s. */
  rates: QueueRates;
  /** All its settings, with their defaults. */
  settings: QueueSettings;
  /** Rises with every change of the settings, pause or resume. */
  version: number;
  /**
   * The gates that hold back ready jobs of the queue, most jobs first; at most 20. Only in the answer to GET of one
   * queue. The keys of a limit count together; `key` is present if only one is closed. `more` says that the server
   * looked only at a part of the jobs.
   */
  blocked_by?: Blocking[];
}

export interface Scale {
  desired_workers: number;
  /** Sentences for a person. */
  because: string;
  /** The number of jobs that should run at a time. */
  desired_slots: number;
  ready: number;
  /** Ready jobs that no worker could start now. They do not count for `desired_workers`. */
  held_back: number;
  running: number;
  /**
   * The mean length of the attempts that ended in the last ten minutes. Null if there is none; then a second is
   * assumed.
   */
  run_ms: number | null;
}

/** When a schedule fires, and what it does about missed instants, overlaps and clock changes. */
export interface ScheduleRule {
  /**
   * Five fields (minute, hour, day of month, month, day of week), or six with the second first. A field is a list of
   * `*`, numbers, names (`JAN`, `MON`), ranges (`9-17`) and steps (`0-59/15`). Days of month may be `L` (the last),
   * `15W` (the working day nearest the 15th) and `LW`; days of week `5#3` (the third Friday) and `5L` (the last
   * Friday): 0 and 7 are Sunday, 5 is Friday. `?` is `*`. Or `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly`. If
   * day of month or day of week begins with `*`, a day must match both, else either. An expression that never comes is
   * refused. At most 512 bytes.
   */
  cron?: string | null;
  /**
   * The interval, at most 10 years. The instants are its whole multiples, counted from `start_at`, else from the Unix
   * epoch: a restart or an edit moves none.
   */
  every_ms?: number | null;
  /** The IANA name of the zone whose clock `cron` follows. Default `UTC`. 1 to 64 characters. */
  timezone?: string;
  /**
   * How much later than its instant a job may come. The delay follows from the schedule and the instant. It must be
   * less than the gap between an instant and the next. Default `0`. 0 to 86,400,000 ms.
   */
  jitter_ms?: number;
  /**
   * An instant that could not be fired for longer than this is missed, and `missed` decides on it. Before that it is
   * only late, and fires. Default `60000`. 1,000 to 86,400,000 ms.
   */
  missed_after_ms?: number;
  /**
   * The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as `missed_limit`.
   * Default `one`.
   */
  missed?: MissedPolicy;
  /**
   * With `missed` `all`, how many instants fire: the newest. The older ones are one entry of the runs, with a count.
   * Default `100`. 1 to 1,000.
   */
  missed_limit?: number;
  /**
   * What happens at an instant while the job or workflow of the instant before has not ended: `allow` the new job
   * beside it, `skip` the instant, `queue` it (one waits until the job has ended, later ones are skipped), or `replace`
   * the job: cancel it, and submit the new one when it has ended. Default `allow`.
   */
  overlap?: OverlapPolicy;
  /**
   * The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`. Only for expressions
   * whose minute and hour do not begin with `*`: the others follow elapsed time, and a gap has none. Default `run`.
   */
  dst_gap?: DstGap;
  /**
   * The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only for expressions
   * whose minute and hour do not begin with `*`: the others follow elapsed time, and are due both times. Default
   * `once`.
   */
  dst_overlap?: DstOverlap;
}

/**
 * The job as it was given, with its queue; a member that was left out may be left out here. `payload` comes back byte
 * for byte.
 */
export interface ScheduleJob {
  /** The type, which decides who runs the jobs. */
  type: string;
  expires_at?: string;
  /**
   * The token may not see payloads: `payload` and `result` are left out, `checkpoint` and `stack` are null, `message`
   * of an error or a log line is empty. Always `true`.
   */
  redacted?: boolean;
  /** The queue in which the job waits: 1 to 128 characters of `A-Za-z0-9._:/-`. If left out, `default`. */
  queue: string;
  /** Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte. Default `null`. */
  payload?: unknown;
  /** Lower runs first. Default `0`. -32,768 to 32,767. */
  priority?: number;
  /** The same as `expires_at`, counted from the submission. At most 10 years. */
  expires_in_ms?: number;
  /** The most attempts. Default the queue's. 1 to 1,000. */
  max_attempts?: number;
  /** How long the job waits after a failed attempt. Default the queue's. */
  retry?: RetryPolicy;
  /** The length of a lease. Default the queue's. 1,000 to 86,400,000 ms. */
  lease_ms?: number;
  /** The bound on one attempt, however often it is extended. Default none. At most 10 years. */
  timeout_ms?: number;
  /** Allows one job for each key within the queue. */
  unique?: UniqueInput;
  /** Names to find the job by. Default `[]`. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. Default `{}`. */
  meta?: Record<string, string>;
  /** W3C trace context. At most 512 characters. */
  traceparent?: string;
  /** W3C trace state, which goes with it. At most 512 characters. */
  tracestate?: string;
  /**
   * The limits that a job must pass to start, its queue's included; each name once. `key` is required if the limit
   * counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of submission; priority does
   * not count among them. 1 to 128 characters.
   */
  order_key?: string;
  order_on_failure?: OrderOnFailure;
  /** The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128 characters. */
  fair_key?: string;
}

export interface ScheduleMember {
  /** The name by which other members name this one. Left out if it has none. */
  ref?: string;
  /** What the member waits for. Left out if it waits for nothing. */
  needs?: Need[];
  /** The first need that is met releases it. Left out if false. */
  needs_any?: boolean;
  /** The job, with what `defaults` gave it. */
  job: MemberJob;
}

/**
 * The workflow as it was given, with its defaults applied to its jobs; a member that was left out may be left out here.
 */
export interface ScheduleWorkflow {
  /** The queue of the workflow itself. */
  queue: string;
  /** What it is, for people. */
  name?: string;
  /** Names to find its workflows by. At most 32 entries. */
  tags?: string[];
  /** The client's own strings, at most 8 KiB. */
  meta?: Record<string, string>;
  members: ScheduleMember[];
  on_member_failed: OnMemberFailed;
  /** The job to submit when the workflow has succeeded. */
  on_success?: MemberJob;
  /** The job to submit when it has failed or was cancelled. */
  on_failure?: MemberJob;
  /** The job to submit when it has ended. */
  on_end?: MemberJob;
  /** The most members that are active at once. 1 to 1,000,000. */
  max_active?: number;
  /** After this time of a generation it stops as if cancelled, and has failed. At most 10 years. */
  timeout_ms?: number;
  /** The ref of a member, whose result is the workflow's. */
  result_from?: string;
  /** Whether the members' jobs stay until the workflow goes. */
  keep_members: boolean;
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
  on_success?: string;
  on_failure?: string;
  on_end?: string;
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
  /** As the cancellation gave it. Left out if it gave none. */
  cancel_reason?: string;
  /** Grows with each retry after the end. */
  generation: number;
  /** Grows with each change of the workflow itself, not with those of its members. */
  version: number;
  /** Whether it takes members from outside. */
  open: boolean;
  created_at: string;
  /** When this generation times out; null if it does not. */
  timeout_at: string | null;
  /** Null until it has ended. */
  ended_at: string | null;
  /** The number of members. */
  members: number;
  counts: MemberCounts;
  callbacks: WorkflowCallbacks;
  /** At most 32 entries. */
  tags: string[];
  /** The client's own strings, at most 8 KiB. */
  meta: Record<string, string>;
  on_member_failed: OnMemberFailed;
  /** Null if there is no bound. */
  max_active: number | null;
  /** Null if there is none. */
  timeout_ms: number | null;
  /** The ref of the member whose result is the workflow's; null if there is none. */
  result_from: string | null;
  /** Whether the members' jobs stay until the workflow goes. */
  keep_members: boolean;
  /** Null if it has no unique key. */
  unique: WorkflowUnique | null;
  /** With `include=result`; null until there is one. */
  result?: unknown;
  /** Jobs of queues that the token does not open, or results that it may not see, are left out. Always `true`. */
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
  job_id?: string | null;
  /** With `include=job`, unless there is none. */
  job?: Job;
  /** With `include=result`; null if there is none. */
  result?: unknown;
  /** Jobs of queues that the token does not open, or results that it may not see, are left out. Always `true`. */
  redacted?: boolean;
}

export interface Need {
  /** The ref of another member, or `@` and its number. 1 to 128 characters. */
  ref: string;
  on: NeedOn;
}

export interface MemberDetail extends Member {
  needs: Need[];
  /** Whether the first need that is met releases it. */
  needs_any: boolean;
  /** The job as it was given. Left out if the token does not open its queue. */
  definition?: MemberJob;
  /** Needs that have not ended, at most 20. */
  waits_for: string[];
}

export interface MemberJob extends ScheduleJob {
  run_at?: string;
  /** From its release. At most 10 years. */
  delay_ms?: number;
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
   * `open`: it is not closed. `active`: members have jobs that have not ended. `max_active`: members wait, because as
   * many as that are active. `releasing`: members are about to be submitted. `in_transit`: jobs are on the way to
   * another shard. `overloaded`: the server's memory is full. `ended`: the workflow has.
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
  /** Jobs of queues that the token does not open, or results that it may not see, are left out. Always `true`. */
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

export interface WorkflowOfClaim extends WorkflowOfJob {
  /** The workflow's. */
  generation: number;
  /** The workflow's when the job was submitted. */
  state: WorkflowState;
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

export interface PushTarget {
  name: string;
  url: string;
  queues: string[];
  types: string[];
  /** Answers do not have their values. */
  header_names: string[];
  /** Whether calls are signed. */
  secret: boolean;
  /** Whether they are signed with a former secret too. */
  previous_secret: boolean;
  concurrency: number;
  timeout_ms: number;
  paused: boolean;
  /** The server pauses a target by itself when its receiver answers 410. */
  pause_reason: string | null;
  version: number;
  created_at: string;
  updated_at: string;
  /** The URL of the node that serves the targets; null if it is this one, or unknown. */
  served_by: string | null;
  health: PushHealth | null;
}

/** Of the calls of the last minutes that were answered; null without any. */
export interface PushLatency {
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
}

export interface PushCall {
  at: string;
  job: string;
  outcome: "succeeded" | "accepted" | "dead" | "snoozed" | "failed" | "cancelled";
  status: number | null;
  took_ms: number;
  /** Only for tokens with the scope `operate` or `admin`. */
  error: string | null;
}

/** Since the node began to serve the targets. */
export interface PushHealth {
  /**
   * `open` after five failures in a row: no call begins for a second, and longer each time. `half_open`: a single call
   * tests the receiver.
   */
  breaker: "closed" | "open" | "half_open";
  failures_in_a_row: number;
  /** While the breaker is open, or after a Retry-After. */
  calls_again_in_ms: number | null;
  /** Calls under way. */
  running: number;
  /** Jobs for which the previous serving node may still be calling: they count as calls until their leases end. */
  held_elsewhere: number;
  totals: Record<string, number>;
  latency: PushLatency;
  /** The last 20 calls, newest first. */
  last: PushCall[];
}

export interface PushTest {
  /** The receiver answered with 2xx. */
  ok: boolean;
  status: number | null;
  took_ms: number;
  error: string | null;
}

export interface Schedule {
  /** The schedule's name. */
  name: string;
  /** The job that it submits, as it was given. Left out if it creates workflows. */
  job: ScheduleJob;
  /** The workflow that it creates, as it was given. Left out if it submits jobs. */
  workflow?: ScheduleWorkflow;
  /** No instant is before it. */
  start_at: string | null;
  /** No instant is after it. */
  end_at: string | null;
  /** Whether somebody has paused it. */
  paused: boolean;
  /** The owner; null if it has none. */
  managed_by: string | null;
  /**
   * Rises with every change of the specification, pause or resume; `ETag` and `If-Match` carry it. Firing leaves it
   * alone.
   */
  version: number;
  /**
   * `ended`: no instant is left. `broken`: the server can't compute the instants, and `error` says why; the schedule
   * does not fire until that is fixed.
   */
  state: "active" | "paused" | "ended" | "broken";
  /** The reason of the pause; null if it is not paused, or none was given. */
  reason: string | null;
  /** Why it is `broken` (say, a zone that is no longer there); else null. */
  error: string | null;
  /** When it was made. */
  created_at: string;
  /** The last change of `version`. */
  updated_at: string;
  /** The newest instant that made a job or workflow; null before the first. */
  last_scheduled_at: string | null;
  /**
   * The job of `last_scheduled_at`, which the queue may have forgotten; null before the first, and if that was a
   * workflow.
   */
  last_job_id: string | null;
  /** The workflow of `last_scheduled_at`. Left out if there is none. */
  last_workflow_id?: string;
  /**
   * The next instants, at most five, without jitter. For a paused schedule, those that it would have; none if it is
   * `ended` or `broken`. At most 5 entries.
   */
  next: string[];
  /** The schedule in words. */
  description: string;
  /**
   * Sentences about settings that are valid but probably mistakes, and one that begins with `delayed` if the server has
   * no room to fire it. Left out if there are none.
   */
  warnings?: string[];
  /**
   * Five fields (minute, hour, day of month, month, day of week), or six with the second first. A field is a list of
   * `*`, numbers, names (`JAN`, `MON`), ranges (`9-17`) and steps (`0-59/15`). Days of month may be `L` (the last),
   * `15W` (the working day nearest the 15th) and `LW`; days of week `5#3` (the third Friday) and `5L` (the last
   * Friday): 0 and 7 are Sunday, 5 is Friday. `?` is `*`. Or `@yearly`, `@monthly`, `@weekly`, `@daily`, `@hourly`. If
   * day of month or day of week begins with `*`, a day must match both, else either. An expression that never comes is
   * refused. At most 512 bytes.
   */
  cron: string | null;
  /**
   * The interval, at most 10 years. The instants are its whole multiples, counted from `start_at`, else from the Unix
   * epoch: a restart or an edit moves none.
   */
  every_ms: number | null;
  /** The IANA name of the zone whose clock `cron` follows. Default `UTC`. 1 to 64 characters. */
  timezone: string;
  /**
   * How much later than its instant a job may come. The delay follows from the schedule and the instant. It must be
   * less than the gap between an instant and the next. Default `0`. 0 to 86,400,000 ms.
   */
  jitter_ms: number;
  /**
   * An instant that could not be fired for longer than this is missed, and `missed` decides on it. Before that it is
   * only late, and fires. Default `60000`. 1,000 to 86,400,000 ms.
   */
  missed_after_ms: number;
  /**
   * The treatment of missed instants: `skip` them, fire `one` (the latest), or `all`, as many as `missed_limit`.
   * Default `one`.
   */
  missed: MissedPolicy;
  /**
   * With `missed` `all`, how many instants fire: the newest. The older ones are one entry of the runs, with a count.
   * Default `100`. 1 to 1,000.
   */
  missed_limit: number;
  /**
   * What happens at an instant while the job or workflow of the instant before has not ended: `allow` the new job
   * beside it, `skip` the instant, `queue` it (one waits until the job has ended, later ones are skipped), or `replace`
   * the job: cancel it, and submit the new one when it has ended. Default `allow`.
   */
  overlap: OverlapPolicy;
  /**
   * The treatment of a time of day that the clock skips: `run` once, at the gap's end, or `skip`. Only for expressions
   * whose minute and hour do not begin with `*`: the others follow elapsed time, and a gap has none. Default `run`.
   */
  dst_gap: DstGap;
  /**
   * The treatment of a time of day that the clock shows twice: `once` (the first) or `twice`. Only for expressions
   * whose minute and hour do not begin with `*`: the others follow elapsed time, and are due both times. Default
   * `once`.
   */
  dst_overlap: DstOverlap;
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

export interface PreviewAnswer {
  /** The schedule in words. */
  description: string;
  /** The instants, oldest first. At most 1,000 entries. */
  next: string[];
  /** As for a schedule; also the effect of clock changes within a year on times of day. Left out if there are none. */
  warnings?: string[];
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
  scheduled_at: string;
  /** When this was decided. */
  at: string;
  /** The job, if one was submitted; else null. */
  job_id: string | null;
  /** The workflow, if one was created. Left out if none was. */
  workflow_id?: string;
  /**
   * `submitted`: a job or workflow was made. `replaced`: a job was made after the previous one was cancelled.
   * `skipped_overlap`: no job, because of `overlap`; also if the instant waited and a later one replaced it.
   * `skipped_missed`: no job, because the instant was missed and `missed` skips it. `refused`: the job could not be
   * submitted, for instance because the queue was full. The schedule retries it until the next instant, and only then
   * makes this entry.
   */
  outcome: "submitted" | "skipped_overlap" | "skipped_missed" | "replaced" | "refused";
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
  /** With `by=queue`; null of the group `others`. */
  queue?: string | null;
  /** With `by=type`; null of the group `others`. */
  type?: string | null;
  /** With `by=fair_key`; null of the group `others`. */
  fair_key?: string | null;
  /** With `by=tag`; null of the group `others`. */
  tag?: string | null;
  /** The sum of all that have no group of their own. `true`, or absent. */
  others?: boolean;
  submitted: number[];
  started: number[];
  succeeded: number[];
  failed: number[];
  dead: number[];
  /** Time from due to started. */
  wait_ms: Percentiles;
  /** Time from started to the end of the attempt. */
  run_ms: Percentiles;
}

export interface Deploy {
  at: string;
  type: string | null;
  version: string;
  worker_sdk: string | null;
}

export interface StatsGap {
  from: string;
  to: string;
}

export interface Stats {
  from: string;
  step_ms: number;
  groups: StatsGroup[];
  /**
   * Versions of workers that were first seen within the window. With `by=type` each entry is for a type of job that the
   * version ran.
   */
  deploys: Deploy[];
  /** Periods without data, because the log no longer had them. */
  gaps: StatsGap[];
  as_of: string;
}

/** The things that it is about, by kind. Empty if it is about the whole store. */
export interface FindingAbout {
  /** Its name. */
  queue?: string;
  /** A type of jobs. */
  type?: string;
  /** Its id. */
  job?: string;
  /** Its id. */
  worker?: string;
  /** Its name. */
  limit?: string;
  /** Its id. */
  error_group?: string;
  /** Its name. */
  schedule?: string;
  /** Its id. */
  workflow?: string;
  /** Its name. */
  push_target?: string;
  /** Its id. */
  token?: string;
  /** Its id. */
  node?: string;
  /** The name of a readiness check. */
  check?: string;
}

/** A number by which something was judged. */
export interface Figure {
  name: string;
  value: number;
  /** `ms`, `bytes`, `percent`, or what is counted, such as `jobs`. */
  unit: string;
  /** With which it was compared; null if it only explains. */
  threshold: number | null;
}

export interface Finding {
  code: FindingCode;
  severity: FindingSeverity;
  about: FindingAbout;
  /** A title, without a full stop. */
  what: string;
  /** The consequence, in sentences. */
  why: string;
  /** The next step, with its command. */
  next: string;
  /** The command alone; null if none helps. Words in capitals stand for what the reader chooses. */
  command: string | null;
  figures: Figure[];
}

export interface MoreFindings {
  code: FindingCode;
  severity: FindingSeverity;
  count: number;
}

export interface NotLookedAt {
  about: FindingArea;
  why: string;
}

/** How many of each the caller can see. A kind that was not looked at is absent. */
export interface LookedAt {
  queues?: number;
  workers?: number;
  limits?: number;
  types?: number;
  error_groups?: number;
  schedules?: number;
  /** Running ones. */
  workflows?: number;
  push_targets?: number;
  tokens?: number;
  nodes?: number;
}

export interface Findings {
  at: string;
  /** The worst first. */
  items: Finding[];
  /** Findings beyond `limit`. */
  more: MoreFindings[];
  /** Parts that were not judged, wholly or in part, and why. */
  not_looked_at: NotLookedAt[];
  looked_at: LookedAt;
}

export interface ErrorGroupVersion {
  version: string;
  first_seen: string;
  last_seen: string;
  count: number;
}

/** The job that was retried to see whether the error is gone. */
export interface Canary {
  job: string;
  state: "running" | "succeeded" | "failed";
  at: string;
}

/** Attempts that failed in the same way. */
export interface ErrorGroup {
  /** The fingerprint of the errors, as jobs and attempts have it. */
  id: string;
  error_type: string;
  /** The message of the first failure, without its variable parts. Null without the scope `payload`. */
  message: string | null;
  status: ErrorGroupStatus;
  /** The time at which it opens again; null: it is muted until somebody opens it. */
  muted_until: string | null;
  note: string | null;
  /** At most 10 entries. */
  queues: string[];
  /** At most 10 entries. */
  types: string[];
  /** Jobs that are now retrying or dead with this error. */
  waiting: number;
  dead: number;
  /** All attempts that have failed with this error. */
  total: number;
  first_seen: string;
  last_seen: string;
  /** Failures in each of the last 24 hours, oldest first. */
  trend: number[];
  /** The versions that the failing workers reported. At most 10 entries. */
  versions: ErrorGroupVersion[];
  /** The jobs that failed last with this error. At most 5 entries. */
  sample: string[];
  canary: Canary | null;
  reopened_at: string | null;
}

export interface FeedEvent {
  /** A position, opaque. */
  id: string;
  /** When it happened. */
  at: string;
  /** What happened. */
  type: EventType;
  /** The queue's name, if it is about one. */
  queue: string | null;
  /** The job's id, if it is about one. */
  job_id: string | null;
  /** The job's type. */
  job_type: string | null;
  /** The attempt's number. */
  attempt: number | null;
  /** The worker's name. */
  worker: string | null;
  /** What else is known, by the type of the event. */
  data: Record<string, unknown>;
}

/** What happened since the stream's last message of this kind. */
export interface Digest {
  at: string;
  /** The number of events. */
  events: number;
  /** Some events are not counted, because the log no longer has them. */
  skipped: boolean;
  /** The number of events by their type. */
  types: Record<string, number>;
  /** The queues of these events. */
  queues: string[];
  /** The jobs of these events. */
  jobs: string[];
}

export interface ReadinessCheck {
  name: string;
  ok: boolean;
  detail: string | null;
}

export interface Readiness {
  status: "ready" | "unready" | "draining";
  /** With `verbose`. */
  checks?: ReadinessCheck[];
}

export interface Meta {
  version: string;
  commit: string | null;
  store: "sqlite" | "postgres";
  node: string;
  shards: number;
  started_at: string;
  server_time: string;
  /** Every bound, with its unit in the name. */
  limits: Record<string, number>;
}

export interface Setting {
  key: string;
  value: string;
  /** `default`, `flag --NAME`, `environment NAME` or `file PATH:LINE`. */
  source: string;
  /** Another value that was read since, which needs a restart of the server. */
  waiting: string | null;
}

export interface Configuration {
  /** The configuration file that was read. */
  file: string | null;
  settings: Setting[];
}

/** The disk of the store's files. Null on PostgreSQL. */
export interface DiskState {
  path: string;
  /** For the server's user. */
  free_bytes: number;
  total_bytes: number;
}

/**
 * The newest appends to the journal, with their syncs, at most 2,048 of the last five minutes. Null if there were none.
 */
export interface SyncState {
  count: number;
  p50_ms: number;
  p99_ms: number;
  max_ms: number;
}

export interface MemoryState {
  budget_bytes: number;
  resident_bytes: number;
  /** `tight`: payloads leave memory early, and schedules slow down; `none`: new jobs are refused. */
  room: "wide" | "tight" | "none";
}

/** The session with the longest open transaction, among those that the server's role may see. */
export interface OldestTransaction {
  pid: number;
  user: string;
  application: string;
  state: string;
  age_ms: number;
}

export interface DatabaseState {
  /** The database's clock against the server's. */
  clock_ahead_ms: number;
  oldest_transaction: OldestTransaction | null;
  prepared_transactions: number;
  connections: number;
  max_connections: number;
}

export interface Diagnosis {
  /** The server's wall clock. */
  at: string;
  node: string;
  version: string;
  store: "sqlite" | "postgres";
  /** The wall clock against the shard's time, which never jumps. */
  wall_ahead_ms: number;
  disk: DiskState | null;
  syncs: SyncState | null;
  /** How far the tables are behind, for the worst shard. Null if the node leads none. */
  projection_lag_ms: number | null;
  /** The stores that the node can't write now. */
  failing: ("journal" | "tables" | "archive")[];
  memory: MemoryState;
  /** The end of the certificate that clients see. Null without TLS. */
  certificate_expires_at: string | null;
  database: DatabaseState | null;
  /** Why `database` is missing. */
  database_error: string | null;
}

export interface ClusterNode {
  /** The id of this process, made at its start; `local` on SQLite. */
  id: string;
  /** The name of its host. */
  name: string;
  /** The address for other nodes; empty on SQLite. */
  url: string;
  version: string;
  started_at: string | null;
  /** Its lease is not over. */
  live: boolean;
  /** The node is draining: it gives up the shards that it leads. */
  draining: boolean;
  /** The node is the one that answers. */
  self: boolean;
}

export interface ClusterShard {
  shard: number;
  /** The leader's node id; null if no node leads the shard. */
  leader: string | null;
  /** The leader's term. */
  epoch: number;
  /** The row of the journal that the tables have reached. */
  projected_seq: number;
  /** The newest row that the answering node holds of a shard that it leads or follows; else null. */
  seq: number | null;
  /** How far the tables are behind, of a shard that the answering node leads; else null. */
  projection_lag_ms: number | null;
}

export interface Cluster {
  nodes: ClusterNode[];
  shards: ClusterShard[];
}

export interface TokenInfo {
  /** The public part of the token, or the name in the certificate that stands for it. */
  id: string;
  name: string;
  description: string | null;
  scopes: TokenScope[];
  /** Globs; null if the token opens every queue. */
  queues: string[] | null;
  /** `config`: the configuration of the nodes; `api`: made at run time. */
  source: "config" | "api";
  expires_at: string | null;
  created_at: string | null;
  /** The name of the token that made it. */
  created_by: string | null;
  /** On the answering node, since it started; to the minute. */
  last_used_at: string | null;
  /** Until then the secret from before the last rotation is valid too. */
  former_secret_until: string | null;
  /** The token with its secret. Only in the answer that makes or rotates it. */
  token?: string;
}

export interface FieldError {
  /** A JSON Pointer to the member, or to the place of a missing one. */
  pointer?: string;
  /** The query parameter, if the fault is in one. */
  parameter?: string;
  /** The header, if the fault is in one. */
  header?: string;
  detail: string;
}

export interface Problem {
  type: string;
  title: string;
  /** 400 to 599. */
  status: number;
  /** Stable: clients should switch on it. */
  code:
    | "invalid_request"
    | "invalid_json"
    | "unauthenticated"
    | "forbidden"
    | "not_found"
    | "method_not_allowed"
    | "idempotency_mismatch"
    | "across_shards"
    | "duplicate_job"
    | "duplicate_workflow"
    | "id_mismatch"
    | "too_many_queues"
    | "too_many_schedules"
    | "too_many_entries"
    | "unknown_limit"
    | "limit_in_use"
    | "lease_lost"
    | "gone"
    | "invalid_state"
    | "version_conflict"
    | "payload_too_large"
    | "unsupported_media_type"
    | "validation_failed"
    | "rate_limited"
    | "queue_full"
    | "key_full"
    | "draining"
    | "storage_unavailable"
    | "overloaded"
    | "internal"
    | "request_timeout"
    | "uri_too_long"
    | "headers_too_large";
  detail: string;
  request_id: string;
  /** With `queue_full` and `key_full`, how many jobs are ready. */
  depth?: number;
  /** With these, how long the oldest of them has been ready. */
  oldest_ready_age_ms?: number;
  /** With `validation_failed`, every fault, at most 20. */
  errors?: FieldError[];
}

/** A page of a list. */
export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}
