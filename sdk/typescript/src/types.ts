/**
 * What the API takes and answers. Durations are numbers of milliseconds. Times are RFC 3339 text in
 * UTC with milliseconds; where a time is given to the server, a `Date` is welcome too.
 */

/** A time that is given to the server: RFC 3339 with any offset, or a `Date`. */
export type TimeInput = string | Date;

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

/** The states that a job does not leave, but for a retry by hand. */
export const FINAL_STATES: ReadonlySet<string> = new Set([
  "succeeded",
  "dead",
  "cancelled",
  "expired",
  "pruned",
]);

/** How long a failed job waits for its next attempt. */
export type RetryPolicy =
  | {
      /** The delay after attempt n: `base * 2^(n-1)`, `base * n` or `base`. */
      strategy: "exponential" | "linear" | "fixed";
      /** In milliseconds, up to 10 years. Default 5,000. */
      base?: number;
      /** The longest delay, in milliseconds. Default 300,000. */
      max?: number;
      /** By how much of itself a delay is moved at random, 0 to 1. Default 0.2. */
      jitter?: number;
    }
  | {
      strategy: "list";
      /** The delay after each attempt, in milliseconds; 1 to 100, and the last one repeats. */
      delays: number[];
    };

/** One job for each key within the queue, while it has not ended. */
export interface Unique {
  /** 1 to 255 bytes. */
  key: string;
  /** Also for so long after the submission, in milliseconds. */
  for?: number | null;
  /** `return` the holder (the default), `reject` with `DuplicateJob`, or `replace` a waiting one. */
  onConflict?: "return" | "reject" | "replace";
}

/** Everything of a submission but its type and payload. */
export interface SubmitOptions {
  /** A UUIDv7. Submitted again, it returns the stored job. Default: the client makes one. */
  id?: string;
  /** Submitted again within 24 hours, it returns the first job. 1 to 255 visible ASCII characters. */
  idempotencyKey?: string;
  /** 1 to 128 characters of `A-Za-z0-9._:/-`. Default `default`. */
  queue?: string;
  /** Lower runs first; -32,768 to 32,767. Default 0. */
  priority?: number;
  /** The earliest start; not together with `delay`. */
  runAt?: TimeInput;
  /** The earliest start, in milliseconds from now, up to 10 years. */
  delay?: number;
  /** A job that has not started by then is `expired`; not together with `expiresIn`. */
  expiresAt?: TimeInput;
  /** As `expiresAt`, in milliseconds from now. */
  expiresIn?: number;
  /** 1 to 1,000. Default the queue's, else 5. */
  maxAttempts?: number;
  /** Default the queue's. */
  retry?: RetryPolicy;
  /** The length of a lease in milliseconds, 1,000 to 86,400,000. Default the queue's. */
  lease?: number;
  /** The bound on one attempt, in milliseconds. Default none. */
  timeout?: number;
  unique?: Unique;
  /** At most 32. */
  tags?: string[];
  /** Strings of your own, at most 8 KiB. */
  meta?: Record<string, string>;
  /** W3C trace context. Default: that of the handler or of `ClientOptions.traceContext`. */
  traceparent?: string;
  tracestate?: string;
}

/** A job to submit. */
export interface NewJob<Payload = unknown> extends SubmitOptions {
  /** What handlers are attached to. 1 to 128 characters of `A-Za-z0-9._:/-`. */
  type: string;
  /** Any JSON value of at most 1 MiB. Default null. */
  payload?: Payload;
}

export interface Progress {
  percent: number | null;
  message: string | null;
  checkpoint: unknown;
}

export interface JobError {
  /** The worker's word, or `lease_expired`, `timeout` or `worker_lost` of the server. */
  type: string;
  message: string;
  stack: string | null;
  /** The same for errors that look alike. */
  fingerprint: string | null;
  attempt: number;
  at: string;
}

export interface Attempt {
  /** Counts every start, from 1. */
  n: number;
  attempt: number;
  worker: string | null;
  startedAt: string;
  finishedAt: string | null;
  outcome: string;
  error: JobError | null;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LogLine {
  /** Rises along the job's lines. */
  seq: number;
  attempt: number;
  at: string;
  level: LogLevel;
  message: string;
}

/** What made a job, if a schedule did. */
export interface ScheduleOfJob {
  name: string;
  /** The instant that the job is for. */
  scheduledAt: string;
}

/** A job as the server shows it. */
export interface Job<Payload = unknown, Result = unknown> {
  id: string;
  queue: string;
  type: string;
  state: JobState;
  priority: number;
  /** Attempts started, less those that ended snoozed or released. */
  attempt: number;
  maxAttempts: number;
  /** Leases that ran out. */
  crashes: number;
  /** Rises with every retry by hand. */
  generation: number;
  /** Rises with every change. */
  version: number;
  createdAt: string;
  runAt: string;
  expiresAt: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  leaseExpiresAt: string | null;
  worker: string | null;
  cancelRequested: boolean;
  progress: Progress | null;
  lastError: JobError | null;
  /** Null if the queue's applies. */
  retry: RetryPolicy | null;
  /** In milliseconds; null if the queue's applies. */
  lease: number | null;
  /** In milliseconds. */
  timeout: number | null;
  unique: Required<Unique> | null;
  tags: string[];
  meta: Record<string, string>;
  traceparent?: string;
  schedule?: ScheduleOfJob;
  /** With `include: ["payload"]`. */
  payload?: Payload;
  /** With `include: ["result"]`; null until there is one. */
  result?: Result | null;
  /** With `include: ["attempts"]`. */
  attempts?: Attempt[];
  /** With `include: ["logs"]`. */
  logs?: LogLine[];
  /** With `include: ["events"]`. */
  events?: Record<string, unknown>[];
}

/** The members that a call adds to a job. */
export type Include = "payload" | "result" | "attempts" | "logs" | "events";

export interface Page<Item> {
  items: Item[];
  /** Null on the last page. */
  nextCursor: string | null;
}

export interface PageOptions {
  /** The most items of a page, 1 to 1,000. Default 50. */
  limit?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string;
}

/** Which jobs a list shows; all that is given must hold. */
export interface JobFilter {
  state?: JobState | JobState[];
  queue?: string;
  type?: string;
  tag?: string;
  createdAfter?: TimeInput;
  createdBefore?: TimeInput;
  /** Words of the search language, as `state:dead error~timeout payload.user.id:42`. */
  q?: string;
  /** Waits until the list shows everything that was acknowledged before. Default false. */
  fresh?: boolean;
  include?: ("payload" | "result")[];
}

/** The settings of a queue; what is left out has its default. */
export interface QueueSettings {
  /** 1 to 1,000. Default 5. */
  maxAttempts?: number;
  /** A job that loses its worker so often is dead. Default the job's `maxAttempts`. */
  maxCrashes?: number | null;
  retry?: RetryPolicy;
  /** In milliseconds, 1,000 to 86,400,000. Default 30,000. */
  lease?: number;
  /** With so many ready jobs, submissions are refused with `QueueFull`. Default no bound. */
  maxReady?: number | null;
  /** How long ended jobs are kept, in milliseconds; null is for ever. */
  retention?: {
    succeeded?: number | null;
    dead?: number | null;
    cancelled?: number | null;
    expired?: number | null;
  };
}

export interface Queue {
  name: string;
  paused: boolean;
  pauseReason: string | null;
  counts: Record<JobState, number>;
  /** In milliseconds; null if no job is ready. */
  oldestReadyAge: number | null;
  rates: Record<"submittedPerS" | "startedPerS" | "succeededPerS" | "failedPerS", number>;
  settings: Required<QueueSettings>;
  version: number;
}

/** A schedule: either `cron` or `every`, and the job to submit. */
export interface ScheduleSpec {
  /** Five or six fields, or a word like `@daily`. */
  cron?: string | null;
  /** In milliseconds, 1,000 to 10 years. */
  every?: number | null;
  /** An IANA name. Default `UTC`. */
  timezone?: string;
  job: Omit<NewJob, "id" | "idempotencyKey" | "runAt" | "delay">;
  startAt?: TimeInput | null;
  endAt?: TimeInput | null;
  /** How much later a job may come, in milliseconds. Default 0. */
  jitter?: number;
  /** After so many milliseconds an instant is missed. Default 60,000. */
  missedAfter?: number;
  /** Default `one`. */
  missed?: "skip" | "one" | "all";
  /** 1 to 1,000. Default 100. */
  missedLimit?: number;
  /** Default `allow`. */
  overlap?: "allow" | "skip" | "queue" | "replace";
  /** Default `run`. */
  dstGap?: "run" | "skip";
  /** Default `once`. */
  dstOverlap?: "once" | "twice";
  paused?: boolean;
  managedBy?: string | null;
}

export interface Schedule extends Required<Omit<ScheduleSpec, "startAt" | "endAt">> {
  name: string;
  startAt: string | null;
  endAt: string | null;
  version: number;
  state: "active" | "paused" | "ended" | "broken";
  reason: string | null;
  error: string | null;
  createdAt: string;
  updatedAt: string;
  lastScheduledAt: string | null;
  lastJobId: string | null;
  /** The next instants, at most five. */
  next: string[];
  description: string;
  warnings?: string[];
}

export interface ScheduleSet {
  managedBy: string;
  schedules: Record<string, ScheduleSpec>;
  /** Delete the owner's schedules that the set does not name. Default false. */
  prune?: boolean;
  dryRun?: boolean;
  /** Take over schedules of other owners. Default false. */
  force?: boolean;
}

export interface ScheduleSetAnswer {
  created: string[];
  updated: string[];
  unchanged: string[];
  deleted: string[];
}

export interface PreviewRequest {
  cron?: string | null;
  every?: number | null;
  timezone?: string;
  from?: TimeInput;
  /** 1 to 1,000. Default 5. */
  count?: number;
  dstGap?: "run" | "skip";
  dstOverlap?: "once" | "twice";
}

export interface Preview {
  description: string;
  next: string[];
  warnings?: string[];
}

export interface BackfillRequest {
  from: TimeInput;
  to: TimeInput;
  /** 1 to 1,000 jobs. Default 1,000. */
  limit?: number;
  dryRun?: boolean;
  /** Also instants whose jobs the queue has forgotten. Default false. */
  rerun?: boolean;
}

export interface BackfillAnswer {
  submitted: number;
  existing: number;
  /** Whether instants are left: then call again. */
  more: boolean;
}

export interface Run {
  scheduledAt: string;
  at: string;
  jobId: string | null;
  outcome: "submitted" | "skipped_overlap" | "skipped_missed" | "replaced" | "refused";
  count?: number;
  error?: string;
}
