// The server's answers, as described in docs/reference/openapi.yaml.

export interface Problem {
  status: number;
  code: string;
  title: string;
  detail: string;
  request_id: string;
  errors?: { pointer?: string; parameter?: string; header?: string; detail: string }[];
}

export interface Session {
  required: boolean;
  signed_in: boolean;
  name: string | null;
  scopes: string[];
  queues: string[] | null;
  expires_at: string | null;
  guard: string | null;
}

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
export type JobState = (typeof kStates)[number];
export const kEnded: readonly JobState[] = ["succeeded", "dead", "cancelled", "expired"];
export const kWaiting: readonly JobState[] = ["scheduled", "ready", "retrying", "blocked"];

export interface Retry {
  strategy: "exponential" | "linear" | "fixed" | "list";
  base_ms?: number;
  max_ms?: number;
  jitter?: number;
  delays_ms?: number[];
}
export interface Rate {
  limit: number;
  per_ms: number;
  burst?: number;
}
export interface NamedLimit {
  name: string;
  key?: string;
  cost?: number;
}
export interface JobError {
  type: string;
  message: string;
  stack: string | null;
  fingerprint: string | null;
  attempt: number;
  at: string;
  redacted?: boolean;
}
export interface Attempt {
  n: number;
  attempt: number;
  worker: string | null;
  started_at: string;
  finished_at: string | null;
  outcome: string;
  error: JobError | null;
}
export interface LogLine {
  seq: number;
  attempt: number;
  at: string;
  level: "debug" | "info" | "warn" | "error";
  message: string;
  redacted?: boolean;
}
export interface Job {
  id: string;
  queue: string;
  type: string;
  state: JobState;
  priority: number;
  attempt: number;
  max_attempts: number;
  crashes: number;
  generation: number;
  version: number;
  created_at: string;
  run_at: string;
  expires_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  lease_expires_at: string | null;
  worker: string | null;
  cancel_requested: boolean;
  progress: { percent: number | null; message: string | null } | null;
  last_error: JobError | null;
  retry: Retry | null;
  lease_ms: number | null;
  timeout_ms: number | null;
  unique: { key: string; for_ms: number | null; on_conflict: string } | null;
  tags: string[];
  meta: Record<string, string>;
  limits?: NamedLimit[];
  order_key?: string;
  order_on_failure?: string;
  traceparent?: string;
  schedule?: { name: string; scheduled_at: string };
  redacted?: boolean;
}
export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}
export interface QueueSettings {
  max_attempts: number;
  max_crashes: number | null;
  retry: Retry;
  lease_ms: number;
  max_ready: number | null;
  concurrency: number | null;
  rate: Rate | null;
  limits: NamedLimit[];
  breaker: Breaker | null;
  fair: { weights: Record<string, number>; default_weight: number; by: "time" | "starts" } | null;
  ageing_ms: number | null;
  max_ready_per_key: number | null;
  retention: {
    succeeded_ms: number | null;
    dead_ms: number | null;
    cancelled_ms: number | null;
    expired_ms: number | null;
  };
}
export interface Queue {
  name: string;
  paused: boolean;
  pause_reason: string | null;
  counts: Record<JobState, number>;
  oldest_ready_age_ms: number | null;
  rates: { submitted_per_s: number; started_per_s: number; succeeded_per_s: number; failed_per_s: number };
  settings: QueueSettings;
  version: number;
  blocked_by?: (Blocking & { waiting?: number })[]; // only in the answer for a single queue
}
export interface FairShare {
  key: string;
  weight: number;
  running: number;
  waiting: number;
  share: number;
}
export interface WorkerInfo {
  id: string;
  host: string | null;
  pid: number | null;
  sdk: string | null;
  version: string | null;
  labels: Record<string, string>;
  queues: string[];
  types: string[] | null;
  state: "active" | "quiet" | "stopping";
  first_seen_at: string;
  last_seen_at: string;
  running: { id: string; queue: string; type: string; attempt: number; started_at: string; lease_expires_at: string }[];
}
export interface Breaker {
  failure_rate: number;
  min_attempts: number;
  window_ms: number;
  open_ms: number;
  probes: number;
}
export type BreakerState = "closed" | "open" | "half_open";
export interface GateState {
  concurrency: number | null;
  rate: Rate | null;
  breaker: Breaker | null;
  retry_rate: Rate | null;
  breaker_state: BreakerState | null;
  open_until: string | null;
  blocked_until: string | null;
  version: number;
  paused: boolean;
  pause_reason: string | null;
  paused_until: string | null;
  in_use: number;
  waiting: number;
  next_token_at: string | null;
}
export interface Limit extends GateState {
  name: string;
  per_key: boolean;
  keys: Record<string, { concurrency?: number | null; rate?: Rate | null }>;
}
export interface TypeGate extends GateState {
  type: string;
}
export interface LimitKey {
  key: string;
  paused: boolean;
  pause_reason: string | null;
  paused_until: string | null;
  in_use: number;
  waiting: number;
  next_token_at: string | null;
  breaker_state: BreakerState | null;
  open_until: string | null;
  blocked_until: string | null;
}
export interface LimitHolder {
  id: string;
  key: string | null;
  worker: string;
  since: string;
}
export interface Blocking {
  code: string;
  limit?: string;
  limit_kind?: "limit" | "type" | "queue";
  key?: string;
  worker?: string;
  reason?: string;
  in_use?: number;
  concurrency?: number;
  waits_for?: string;
  holders?: string[];
  ahead?: number;
  more?: boolean;
  since?: string;
  until?: string;
  available_at?: string;
}
export interface Why {
  id: string;
  state: JobState;
  at: string;
  summary: string;
  blocking: Blocking[];
  notes: { code: string; last_seen?: string }[];
}
export interface ScheduleJob {
  type: string;
  queue: string;
  priority?: number;
  max_attempts?: number;
  tags?: string[];
}
export interface Schedule {
  name: string;
  cron: string | null;
  every_ms: number | null;
  timezone: string;
  job: ScheduleJob;
  start_at: string | null;
  end_at: string | null;
  jitter_ms: number;
  missed_after_ms: number;
  missed: "skip" | "one" | "all";
  missed_limit: number;
  overlap: "allow" | "skip" | "queue" | "replace";
  dst_gap: "run" | "skip";
  dst_overlap: "once" | "twice";
  paused: boolean;
  managed_by: string | null;
  version: number;
  state: "active" | "paused" | "ended" | "broken";
  reason: string | null;
  error: string | null;
  created_at: string;
  updated_at: string;
  last_scheduled_at: string | null;
  last_job_id: string | null;
  next: string[];
  description: string;
  warnings?: string[];
}
export interface Preview {
  description: string;
  next: string[];
  warnings?: string[];
}
export interface Run {
  scheduled_at: string;
  at: string;
  job_id: string | null;
  outcome: "submitted" | "skipped_overlap" | "skipped_missed" | "replaced" | "refused";
  count?: number;
  error?: string;
}
export interface PushTarget {
  name: string;
  url: string;
  queues: string[];
  types: string[];
  header_names: string[];
  secret: boolean;
  previous_secret: boolean;
  concurrency: number;
  timeout_ms: number;
  paused: boolean;
  pause_reason: string | null;
  version: number;
  created_at: string;
  updated_at: string;
  served_by: string | null;
  health: {
    breaker: "closed" | "open" | "half_open";
    failures_in_a_row: number;
    calls_again_in_ms: number | null;
    running: number;
    held_elsewhere: number;
    totals: Record<"succeeded" | "accepted" | "dead" | "snoozed" | "failed" | "cancelled", number>;
    latency: { p50_ms: number | null; p95_ms: number | null; p99_ms: number | null };
    last: { at: string; job: string; outcome: string; status: number | null; took_ms: number; error: string | null }[];
  } | null;
}
type Column = number[];
type Percentile = (number | null)[];
export interface StatsGroup {
  queue?: string | null;
  type?: string | null;
  others?: true;
  submitted: Column;
  started: Column;
  succeeded: Column;
  failed: Column;
  dead: Column;
  wait_ms: { p50: Percentile; p95: Percentile; p99: Percentile };
  run_ms: { p50: Percentile; p95: Percentile; p99: Percentile };
}
export interface Stats {
  from: string;
  step_ms: number;
  groups: StatsGroup[];
  // Versions of workers that appeared within the window.
  deploys: { at: string; type: string | null; version: string; worker_sdk: string | null }[];
  gaps: { from: string; to: string }[];
  as_of: string;
}
export interface FeedEvent {
  id: string;
  at: string;
  type: string;
  queue: string | null;
  job_id: string | null;
  job_type: string | null;
  attempt: number | null;
  worker: string | null;
}
export interface Meta {
  version: string;
  commit: string | null;
  store: string;
  node: string;
  shards: number;
  started_at: string;
  server_time: string;
  limits: Record<string, number>;
}
export interface Finding {
  code: string;
  severity: "bad" | "warn" | "note";
  about: {
    queue?: string;
    type?: string;
    job?: string;
    worker?: string;
    limit?: string;
    error_group?: string;
    schedule?: string;
    push_target?: string;
    token?: string;
    node?: string;
    check?: string;
  };
  what: string;
  why: string;
  next: string;
  command: string | null;
  figures: { name: string; value: number; unit: string; threshold: number | null }[];
}
export interface Findings {
  at: string;
  items: Finding[];
  more: { code: string; severity: Finding["severity"]; count: number }[];
  not_looked_at: { about: string; why: string }[];
  looked_at: Record<string, number>;
}
export interface Readiness {
  status: "ready" | "unready" | "draining";
  checks?: { name: string; ok: boolean; detail: string | null }[];
}
export interface Cluster {
  nodes: {
    id: string;
    name: string;
    url: string;
    version: string;
    started_at: string | null;
    live: boolean;
    draining: boolean;
    self: boolean;
  }[];
  shards: {
    shard: number;
    leader: string | null;
    epoch: number;
    projected_seq: number;
    seq: number | null;
    projection_lag_ms: number | null;
  }[];
}
export interface TokenInfo {
  id: string;
  name: string;
  description: string | null;
  scopes: string[];
  queues: string[] | null;
  source: "config" | "api";
  expires_at: string | null;
  created_at: string | null;
  created_by: string | null;
  last_used_at: string | null;
  former_secret_until: string | null;
  token?: string;
}
export interface BulkAnswer {
  matched: number;
  changed: number;
  failed: number;
  more: boolean;
  results?: { status: number; id: string; state?: string; error?: Problem }[];
}
export interface Digest {
  at: string;
  events: number;
  skipped: boolean;
  types: Record<string, number>;
  queues: string[];
  jobs: string[];
}

export type GroupStatus = "open" | "muted" | "resolved";
export interface ErrorGroup {
  id: string;
  error_type: string;
  message: string;
  status: GroupStatus;
  muted_until: string | null;
  note: string | null;
  queues: string[];
  types: string[];
  waiting: number; // jobs that are now retrying or dead because of it
  dead: number;
  total: number; // attempts that failed with it
  first_seen: string;
  last_seen: string;
  trend: number[]; // failures per hour, oldest first
  versions: { version: string; first_seen: string; last_seen: string; count: number }[];
  sample: string[]; // ids, newest first
  canary: { job: string; state: "running" | "succeeded" | "failed"; at: string } | null;
  reopened_at: string | null;
  redacted?: boolean;
}
export interface Operation {
  id: string;
  kind: "bulk" | "purge" | "error_group" | "reproject";
  action: "retry" | "cancel" | "delete" | "reprioritize" | null;
  query: string | null;
  queue: string | null;
  error_group: string | null;
  state: "running" | "paused" | "completed" | "cancelled" | "failed";
  matched: number | null;
  done: number;
  changed: number;
  failed: number;
  rate_per_s: number | null;
  created_at: string;
  created_by: string | null;
  updated_at: string;
  ended_at: string | null;
  estimated_end_at: string | null;
  reason: string | null;
}
export interface AuditEntry {
  id: string;
  at: string;
  actor: { token: string | null; name: string | null; address: string; via: string };
  request_id: string | null;
  action: string;
  object: { kind: string; name: string };
  summary: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  reason: string | null;
}
export interface Configuration {
  file: string | null;
  settings: { key: string; value: string; source: string; waiting: string | null }[];
}
