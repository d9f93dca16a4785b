/**
 * The values that the API accepts and returns. Durations are numbers of milliseconds. Times are RFC
 * 3339 text in UTC with milliseconds; times sent to the server may also be a `Date`.
 */

/** A time to send to the server: RFC 3339 with any offset, or a `Date`. */
export type TimeInput = string | Date;

/** The state of a job. `succeeded`, `dead`, `cancelled` and `expired` are final. */
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

/** The states that a job leaves only by a manual retry. */
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
      /** The fraction by which a delay varies randomly, 0 to 1. Default 0.2. */
      jitter?: number;
    }
  | {
      /** Uses a list of delays. */
      strategy: "list";
      /** The delays after each attempt, in milliseconds; 1 to 100, and the last one repeats. */
      delays: number[];
    };

/** Allows one job per key within the queue, until the job has ended. */
export interface Unique {
  /** 1 to 255 bytes. */
  key: string;
  /** Holds the key for at least this long after the submission, in milliseconds. */
  for?: number | null;
  /**
   * `return` the holder (the default), `reject` with `DuplicateJob`, `replace` a waiting holder, or
   * `debounce`: a waiting holder gets the new payload, and starts `delay` after the last
   * submission.
   */
  onConflict?: "return" | "reject" | "replace" | "debounce";
  /** With `debounce`: the longest time from the first submission to the start, in milliseconds. */
  maxWait?: number | null;
}

/** A limit that a job must pass. */
export interface JobLimit {
  /** The limit's name. */
  name: string;
  /** The job's key, if the limit counts by key; 1 to 255 bytes. */
  key?: string;
  /** The cost of a start against the limit's rate, 1 to 1,000,000. Default 1. */
  cost?: number;
}

/** The members of a submission other than its type and payload. */
export interface SubmitOptions {
  /** A UUIDv7. Submitting it again returns the stored job. Default: the client makes one. */
  id?: string;
  /** 1 to 255 visible ASCII characters. A repetition within 24 hours returns the first job. */
  idempotencyKey?: string;
  /** The queue: 1 to 128 characters of `A-Za-z0-9._:/-`. Default `default`. */
  queue?: string;
  /** Lower runs first; -32,768 to 32,767. Default 0. */
  priority?: number;
  /** The earliest start. Excludes `delay`. */
  runAt?: TimeInput;
  /** The earliest start, in milliseconds from now, up to 10 years. */
  delay?: number;
  /** When the job expires if it has not started. Excludes `expiresIn`. */
  expiresAt?: TimeInput;
  /** The same as `expiresAt`, in milliseconds from now. */
  expiresIn?: number;
  /** 1 to 1,000. Default the queue's, else 5. */
  maxAttempts?: number;
  /** Default the queue's. */
  retry?: RetryPolicy;
  /** The length of a lease in milliseconds, 1,000 to 86,400,000. Default the queue's. */
  lease?: number;
  /** Bounds each attempt, in milliseconds. Default none. */
  timeout?: number;
  /** Allows one job per key at a time. */
  unique?: Unique;
  /** The limits that it must pass, at most 8 including those of its queue. */
  limits?: JobLimit[];
  /** A queue's jobs with the same key run one at a time, in order; 1 to 128 bytes. */
  orderKey?: string;
  /** `hold` (the default) lets its successors wait while it retries; or `pass`. */
  orderOnFailure?: "hold" | "pass";
  /** The key whose share of a queue with `fair` it uses; 1 to 128 bytes. */
  fairKey?: string;
  /** At most 32. */
  tags?: string[];
  /** Strings of the application, at most 8 KiB. */
  meta?: Record<string, string>;
  /** W3C trace context. Default: that of the handler or of `ClientOptions.traceContext`. */
  traceparent?: string;
  /** W3C trace state; at most 512 bytes. */
  tracestate?: string;
}

/** A job to submit. */
export interface NewJob<Payload = unknown> extends SubmitOptions {
  /** The type that handlers are attached to: 1 to 128 characters of `A-Za-z0-9._:/-`. */
  type: string;
  /** Any JSON value of at most 1 MiB. Default null. */
  payload?: Payload;
}

/** The progress that a handler reported. */
export interface Progress {
  /** 0 to 100. */
  percent: number | null;
  /** At most 1,024 bytes. */
  message: string | null;
  /** The checkpoint for the next attempt; null if there is none. */
  checkpoint: unknown;
}

/** Why an attempt failed. */
export interface JobError {
  /** The worker's error class, or the server's `lease_expired`, `timeout` or `worker_lost`. */
  type: string;
  /** At most 4 KiB. */
  message: string;
  /** At most 32 KiB. */
  stack: string | null;
  /** The same for errors that look alike. */
  fingerprint: string | null;
  /** The attempt that failed, from 1. */
  attempt: number;
  /** When it failed. */
  at: string;
}

/** One start of a job. */
export interface Attempt {
  /** Counts every start, from 1. */
  n: number;
  /** The attempt's number. Snoozed and released attempts do not count. */
  attempt: number;
  /** The worker's name. */
  worker: string | null;
  /** When the worker got the job. */
  startedAt: string;
  /** Null while it runs. */
  finishedAt: string | null;
  /** `running`, or how it ended, such as `succeeded`, `failed` or `lease_expired`. */
  outcome: string;
  /** Null unless it failed. */
  error: JobError | null;
}

/** The level of a log line. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** A line of a job's log. */
export interface LogLine {
  /** Rises along the job's lines. */
  seq: number;
  /** The attempt that wrote it, from 1. */
  attempt: number;
  /** When it was written, by the worker's clock. */
  at: string;
  /** The level; `info` if the worker gave none. */
  level: LogLevel;
  /** At most 8 KiB. */
  message: string;
}

/** The schedule that created a job. */
export interface ScheduleOfJob {
  /** The schedule's name. */
  name: string;
  /** The instant that the job is for. */
  scheduledAt: string;
}

/** A job as the server shows it. */
export interface Job<Payload = unknown, Result = unknown> {
  /** A UUIDv7. */
  id: string;
  /** The queue's name. */
  queue: string;
  /** The type's name. */
  type: string;
  /** Its current state. */
  state: JobState;
  /** Lower runs first. */
  priority: number;
  /** The number of attempts started, except those that ended snoozed or released. */
  attempt: number;
  /** The maximum number of attempts. */
  maxAttempts: number;
  /** The number of leases that expired. */
  crashes: number;
  /** Rises with every manual retry. */
  generation: number;
  /** Rises with every change. */
  version: number;
  /** When it was submitted. */
  createdAt: string;
  /** When it is, or was, due. */
  runAt: string;
  /** When it expires if it has not started. */
  expiresAt: string | null;
  /** The last start. */
  startedAt: string | null;
  /** Null until it has ended. */
  finishedAt: string | null;
  /** Null unless it runs. */
  leaseExpiresAt: string | null;
  /** The name of the worker that runs it. */
  worker: string | null;
  /** Whether it was cancelled while it ran. */
  cancelRequested: boolean;
  /** Null if none was reported. */
  progress: Progress | null;
  /** Null if no attempt failed. */
  lastError: JobError | null;
  /** Null if the queue's applies. */
  retry: RetryPolicy | null;
  /** In milliseconds; null if the queue's applies. */
  lease: number | null;
  /** In milliseconds. */
  timeout: number | null;
  /** Null if it has no unique key. */
  unique: Required<Unique> | null;
  /** As submitted. */
  tags: string[];
  /** As submitted. */
  meta: Record<string, string>;
  /** Left out if it has none. */
  traceparent?: string;
  /** Left out if no schedule created it. */
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

/** One page of a list. */
export interface Page<Item> {
  /** In the order of the list. */
  items: Item[];
  /** Null on the last page. */
  nextCursor: string | null;
}

/** Selects a page of a list. */
export interface PageOptions {
  /** The maximum number of items in a page, 1 to 1,000. Default 50. */
  limit?: number;
  /** The `nextCursor` of the previous page. */
  cursor?: string;
}

/** Selects jobs of a list. All given conditions must hold. */
export interface JobFilter {
  /** A state, or several alternatives. */
  state?: JobState | JobState[];
  /** The queue's name. */
  queue?: string;
  /** The type's name. */
  type?: string;
  /** One of the job's tags. */
  tag?: string;
  /** Submitted at this time or later. */
  createdAfter?: TimeInput;
  /** Submitted before this time. */
  createdBefore?: TimeInput;
  /** A search, such as `state:dead error~timeout payload.user.id:42`. */
  q?: string;
  /** Waits until the list shows all changes acknowledged before the call. Default false. */
  fresh?: boolean;
  /** Additional members of each job. */
  include?: ("payload" | "result")[];
}

/** The settings of a queue. Settings left out take their defaults. */
export interface QueueSettings {
  /** 1 to 1,000. Default 5. */
  maxAttempts?: number;
  /** The number of lost workers after which a job is dead. Default: the job's `maxAttempts`. */
  maxCrashes?: number | null;
  /** For jobs without their own policy. Default: exponential from 5,000 to 300,000. */
  retry?: RetryPolicy;
  /** In milliseconds, 1,000 to 86,400,000. Default 30,000. */
  lease?: number;
  /** The number of ready jobs from which submissions fail with `QueueFull`. Default: no bound. */
  maxReady?: number | null;
  /** How long ended jobs are kept, in milliseconds; null is for ever. */
  retention?: {
    /** Default 86,400,000 (a day). */
    succeeded?: number | null;
    /** Default 2,592,000,000 (30 days). */
    dead?: number | null;
    /** Default 86,400,000 (a day). */
    cancelled?: number | null;
    /** Default 86,400,000 (a day). */
    expired?: number | null;
  };
}

/** A queue as the server shows it. */
export interface Queue {
  /** Its name. */
  name: string;
  /** Whether the server hands out none of its jobs. */
  paused: boolean;
  /** Null if none was given. */
  pauseReason: string | null;
  /** The number of its jobs by state. */
  counts: Record<JobState, number>;
  /** In milliseconds; null if no job is ready. */
  oldestReadyAge: number | null;
  /** Over the last 60 seconds. */
  rates: Record<"submittedPerS" | "startedPerS" | "succeededPerS" | "failedPerS", number>;
  /** All settings, including defaults. */
  settings: Required<QueueSettings>;
  /** Rises with every change of the settings, pause or resume. */
  version: number;
}

/** A schedule: either `cron` or `every`, and the job to submit. */
export interface ScheduleSpec {
  /** Five or six fields, or a word such as `@daily`. */
  cron?: string | null;
  /** In milliseconds, 1,000 to 10 years. */
  every?: number | null;
  /** An IANA name. Default `UTC`. */
  timezone?: string;
  /** The job to submit at each instant. */
  job: Omit<NewJob, "id" | "idempotencyKey" | "runAt" | "delay">;
  /** The earliest possible instant. */
  startAt?: TimeInput | null;
  /** The latest possible instant. */
  endAt?: TimeInput | null;
  /** The maximum random delay of a job, in milliseconds. Default 0. */
  jitter?: number;
  /** The delay in milliseconds after which an instant counts as missed. Default 60,000. */
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
  /** If left out, a new schedule is not paused, and an existing one is unchanged. */
  paused?: boolean;
  /** The owner's name. Default none. */
  managedBy?: string | null;
}

/** A schedule as the server shows it. */
export interface Schedule extends Required<Omit<ScheduleSpec, "startAt" | "endAt">> {
  /** Its name. */
  name: string;
  /** The earliest possible instant. */
  startAt: string | null;
  /** The latest possible instant. */
  endAt: string | null;
  /** Rises with every change, pause or resume. */
  version: number;
  /** `ended`: no instant is left. `broken`: the instants can't be computed; `error` says why. */
  state: "active" | "paused" | "ended" | "broken";
  /** The reason of the pause. */
  reason: string | null;
  /** Why it is broken. */
  error: string | null;
  /** When it was created. */
  createdAt: string;
  /** The last change of `version`. */
  updatedAt: string;
  /** The latest instant that created a job. */
  lastScheduledAt: string | null;
  /** The job of that instant. */
  lastJobId: string | null;
  /** The next instants, at most five. */
  next: string[];
  /** The instants in plain words. */
  description: string;
  /** Valid settings that are probably mistakes. */
  warnings?: string[];
}

/** All schedules of one owner. */
export interface ScheduleSet {
  /** The owner's name. */
  managedBy: string;
  /** By name; at most 10,000. */
  schedules: Record<string, ScheduleSpec>;
  /** Deletes the owner's schedules that the set does not name. Default false. */
  prune?: boolean;
  /** Changes nothing, but returns the changes that would be made. Default false. */
  dryRun?: boolean;
  /** Takes over schedules of other owners. Default false. */
  force?: boolean;
}

/** The sorted names of the schedules by the change made to them. */
export interface ScheduleSetAnswer {
  /** New schedules. */
  created: string[];
  /** Schedules that were changed. */
  updated: string[];
  /** Schedules that needed no change. */
  unchanged: string[];
  /** Schedules deleted by `prune`. */
  deleted: string[];
}

/** An expression to explain: either `cron` or `every`. */
export interface PreviewRequest {
  /** A cron expression, as in `ScheduleSpec`. */
  cron?: string | null;
  /** In milliseconds, counted from the Unix epoch. */
  every?: number | null;
  /** An IANA name. Default `UTC`. */
  timezone?: string;
  /** The first possible instant. Default now. */
  from?: TimeInput;
  /** 1 to 1,000. Default 5. */
  count?: number;
  /** Default `run`. */
  dstGap?: "run" | "skip";
  /** Default `once`. */
  dstOverlap?: "once" | "twice";
}

/** The meaning of an expression. */
export interface Preview {
  /** The instants in plain words. */
  description: string;
  /** The instants, oldest first. */
  next: string[];
  /** Valid settings that are probably mistakes. */
  warnings?: string[];
}

/** A past range of instants. */
export interface BackfillRequest {
  /** The start of the range, inclusive. */
  from: TimeInput;
  /** The end of the range, exclusive. It must not be later than now. */
  to: TimeInput;
  /** 1 to 1,000 jobs. Default 1,000. */
  limit?: number;
  /** Only counts the jobs. Default false. */
  dryRun?: boolean;
  /** Includes instants older than the queue's retention, whose jobs may have run. Default false. */
  rerun?: boolean;
}

/** The result of a backfill. */
export interface BackfillAnswer {
  /** New jobs. */
  submitted: number;
  /** Instants that were skipped because their job still exists. */
  existing: number;
  /** Whether instants remain; if so, call again. */
  more: boolean;
}

/** The result of an instant of a schedule. */
export interface Run {
  /** The instant; with `count`, the latest one. */
  scheduledAt: string;
  /** When the result was decided. */
  at: string;
  /** Null if no job was submitted. */
  jobId: string | null;
  /** Whether a job was submitted, or why not. */
  outcome: "submitted" | "skipped_overlap" | "skipped_missed" | "replaced" | "refused";
  /** The number of instants that it stands for, if not one. */
  count?: number;
  /** Why it was refused. */
  error?: string;
}
