// Made by tools/types from docs/reference/openapi.yaml; do not edit.

/**
 * `hold`: while the job waits for its next attempt, its successors wait too. `pass`: they run.
 * Default `hold`.
 */
export type OrderOnFailure = "hold" | "pass";

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
 * The delay before attempt n+1 is `base_ms * 2^(n-1)` (exponential), `base_ms * n` (linear) or
 * `base_ms` (fixed), at most `max_ms`, and then changes by up to `jitter` of itself either way.
 * `list` names the delays.
 */
export type RetryPolicy = BackoffPolicy | DelaysPolicy;

/**
 * One job for each key within the queue, while the job is not terminal and for `for_ms` after the
 * submission.
 */
export interface UniqueInput {
  /** The key. 1 to 255 characters. */
  key: string;
  /** How long the key is held at least. Default until the job has ended. At most 10 years. */
  for_ms?: number;
  /**
   * `return` the holder, `reject` with 409 `duplicate_job`, or `replace`: cancel a waiting holder
   * (a running one is 409). `debounce`: a waiting holder takes the new payload, and starts
   * `delay_ms` after the newest submission (its backoff is never shortened; another type is 409). A
   * running holder lets one new job wait; if it fails without having ended, it is cancelled as
   * `superseded`. With `for_ms`, `return` is a throttle. Default `return`.
   */
  on_conflict?: "return" | "reject" | "replace" | "debounce";
  /** With `debounce`: the longest time from the first submission to the start. At most 10 years. */
  max_wait_ms?: number;
}

/** A job of a batch, which may have an idempotency key of its own. */
export interface Submission<Payload = unknown> {
  /** The type, which decides who runs the job: 1 to 128 characters of `A-Za-z0-9._:/-`. */
  type: string;
  /**
   * A repetition with the key returns the first job, for 24 hours (a setting). As the header
   * `Idempotency-Key` of a single job; bound to the item and the batch's `defaults` as they are
   * sent. Visible ASCII. 1 to 255 characters.
   */
  idempotency_key?: string;
  /**
   * A UUIDv7 that the client makes. A second submission of it to the same queue returns the stored
   * job, as long as the server keeps that. If the job now has another type, payload (byte by byte),
   * priority, timeout, tags, meta or unique key, it is 409 `id_mismatch`. If another queue's job
   * has the id, it is 409 `duplicate_job`. If it is left out, the server makes one.
   */
  id?: string;
  /** The earliest start; not together with `delay_ms`. Default now. */
  run_at?: string;
  /** The same as `run_at`, counted from the submission. At most 10 years. */
  delay_ms?: number;
  /**
   * A job that has not started by then is `expired`; not together with `expires_in_ms`. Default
   * never.
   */
  expires_at?: string;
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
   * The limits that a job must pass to start, its queue's included; each name once. `key` is
   * required if the limit counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
   * submission; priority does not count among them. 1 to 128 characters.
   */
  order_key?: string;
  order_on_failure?: OrderOnFailure;
  /**
   * The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
   * characters.
   */
  fair_key?: string;
}

/** The schedule that made the job. Left out if there is none. */
export interface ScheduleOfJob {
  /** The schedule's name. */
  name: string;
  /** The instant that the job is for; the job may come later. */
  scheduled_at: string;
}

export interface Progress {
  /** From 0 to 100; null if it was not told. */
  percent: number | null;
  /** At most 1,024 bytes; null if it was not told. */
  message: string | null;
  /** State for the next attempt; opaque JSON. */
  checkpoint: unknown;
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

export interface Lease {
  /** Names one lease; rises with every lease of a shard. 0 to 9,007,199,254,740,991. */
  token: number;
  /** When it ends, unless it is extended. */
  expires_at: string;
  /**
   * The lease's length, by which a heartbeat extends it; send one after a third of it. Unlike
   * `expires_at` it depends on no clock. 1,000 to 86,400,000 ms.
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
  /** The client's own strings, at most 8 KiB. */
  meta: Record<string, string>;
  /** The time at which the attempt times out, if the job has `timeout_ms`. */
  deadline?: string | null;
  /**
   * The length of the attempt, if it is bounded. A worker measures it by its own monotonic clock,
   * so that its wall clock need not agree with the server's.
   */
  timeout_ms?: number;
  /** Lower runs first. -32,768 to 32,767. */
  priority?: number;
  /** When it was submitted. */
  created_at?: string;
  /** At most 32 entries. */
  tags?: string[];
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

export interface JobLimit {
  /** The limit's name. */
  name: string;
  /** The job's key, if the limit counts by key. 1 to 255 characters. */
  key?: string;
  /** The tokens of the limit's rate that a start takes. Default `1`. 1 to 1,000,000. */
  cost?: number;
}

export interface NeedInput {
  /** The ref of another member. */
  ref: string;
  /** The end that is waited for. Default `succeeded`. */
  on?: NeedOn;
}

/**
 * A submission without `id`, `unique` and `expires_at`: they are 422. Its `delay_ms` and
 * `expires_in_ms` count from its release. Default queue: that of the workflow.
 */
export interface MemberJobInput {
  /** The type, which decides who runs the job. Required, unless `defaults` has it. */
  type?: string;
  /** The earliest start; not together with `delay_ms`. */
  run_at?: string;
  /** The same, counted from the release. At most 10 years. */
  delay_ms?: number;
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
   * The limits that a job must pass to start, its queue's included; each name once. `key` is
   * required if the limit counts by key, and forbidden otherwise. At most 8 entries.
   */
  limits?: JobLimit[];
  /**
   * Jobs of one key of a queue run one at a time, by due time as submitted, then by order of
   * submission; priority does not count among them. 1 to 128 characters.
   */
  order_key?: string;
  order_on_failure?: OrderOnFailure;
  /**
   * The key, such as a tenant, whose share the job uses in a queue that shares fairly. 1 to 128
   * characters.
   */
  fair_key?: string;
}

export interface MemberInput {
  job: MemberJobInput;
  /** A name by which other members and calls name this one. */
  ref?: string;
  /**
   * What the member waits for; a ref alone stands for an object with it. Default `[]`: the member
   * starts at once. At most 1,000 entries.
   */
  needs?: (NeedInput | string)[];
  /** The first need that is met releases it. Default `false`. */
  needs_any?: boolean;
}

export interface WorkflowUniqueInput {
  /** One workflow for each key within the queue, until it ends. 1 to 255 characters. */
  key: string;
  /** `return` the holder, or `reject` with 409 `duplicate_workflow`. Default `return`. */
  on_conflict?: "return" | "reject";
}

export interface WorkflowInput {
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
  defaults?: MemberJobInput;
  /** Default `[]`. A closed workflow without members succeeds at once. At most 10,000 entries. */
  members?: MemberInput[];
  /** It takes more members, and ends only after it is closed. Default `false`. */
  open?: boolean;
  /** What a member's failure does. Default `continue`. */
  on_member_failed?: OnMemberFailed;
  /** A job to submit when the workflow has succeeded. */
  on_success?: MemberJobInput;
  /** A job to submit when it has failed or was cancelled. */
  on_failure?: MemberJobInput;
  /** A job to submit when it has ended. */
  on_end?: MemberJobInput;
  /** The most members that are active at once. Default no bound. 1 to 1,000,000. */
  max_active?: number;
  /**
   * After this time of a generation it stops as if cancelled, and has failed. Default none. At most
   * 10 years.
   */
  timeout_ms?: number;
  /** The ref of a member, whose result is the workflow's. */
  result_from?: string;
  /**
   * Keep the members' jobs until the workflow goes, whatever their queues' retention is. Default
   * `true`.
   */
  keep_members?: boolean;
  /** Allows one workflow for each key. */
  unique?: WorkflowUniqueInput;
}

export interface MembersInput {
  /** At most 10,000 entries. */
  members: MemberInput[];
  /**
   * The member that adds them, while it is active; needed if the workflow is closed. 1 to 128
   * characters.
   */
  by?: string;
  /** Close the workflow too. Default `false`. */
  close?: boolean;
}

/** The number of members by state. */
export interface MemberCounts {
  blocked: number;
  active: number;
  succeeded: number;
  failed: number;
  skipped: number;
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

export interface FieldError {
  detail: string;
  /** A JSON Pointer to the member, or to the place of a missing one. */
  pointer?: string;
  /** The query parameter, if the fault is in one. */
  parameter?: string;
  /** The header, if the fault is in one. */
  header?: string;
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
