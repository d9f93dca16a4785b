/**
 * What the API takes and answers. Durations are numbers of milliseconds. Times are RFC 3339 text in
 * UTC with milliseconds; where a time is given to the server, a `Date` is welcome too.
 */

/** A time that is given to the server: RFC 3339 with any offset, or a `Date`. */
export type TimeInput = string | Date;

/** Where a job stands. Of these `succeeded`, `dead`, `cancelled` and `expired` are ends. */
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
      /** Names every delay. */
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
  /**
   * `return` the holder (the default), `reject` with `DuplicateJob`, `replace` a waiting one, or
   * `debounce`: a waiting one takes the new payload, and starts `delay` after the newest submission.
   */
  onConflict?: "return" | "reject" | "replace" | "debounce";
  /** With `debounce`: it starts so long after the first submission at the latest, in milliseconds. */
  maxWait?: number | null;
}

/** A limit that a job must pass. */
export interface JobLimit {
  /** The limit's name. */
  name: string;
  /** Where the limit counts by key: the job's; 1 to 255 bytes. */
  key?: string;
  /** Of a start, against the limit's rate; 1 to 1,000,000. Default 1. */
  cost?: number;
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
  /** One job for each key at a time. */
  unique?: Unique;
  /** The limits that it must pass; at most 8, those of its queue included. */
  limits?: JobLimit[];
  /** Jobs of one key of a queue run one at a time, in order; 1 to 128 bytes. */
  orderKey?: string;
  /** `hold` (the default): its successors wait while it retries; or `pass`. */
  orderOnFailure?: "hold" | "pass";
  /** Whose share of a queue with `fair` it takes; 1 to 128 bytes. */
  fairKey?: string;
  /** At most 32. */
  tags?: string[];
  /** Strings of your own, at most 8 KiB. */
  meta?: Record<string, string>;
  /** W3C trace context. Default: that of the handler or of `ClientOptions.traceContext`. */
  traceparent?: string;
  /** W3C trace state; at most 512 bytes. */
  tracestate?: string;
}

/** A job to submit. */
export interface NewJob<Payload = unknown> extends SubmitOptions {
  /** What handlers are attached to. 1 to 128 characters of `A-Za-z0-9._:/-`. */
  type: string;
  /** Any JSON value of at most 1 MiB. Default null. */
  payload?: Payload;
}

/** What a handler reported of its progress. */
export interface Progress {
  /** 0 to 100. */
  percent: number | null;
  /** At most 1,024 bytes. */
  message: string | null;
  /** What the next attempt finds; null if there is none. */
  checkpoint: unknown;
}

/** Why an attempt failed. */
export interface JobError {
  /** The worker's word, or `lease_expired`, `timeout` or `worker_lost` of the server. */
  type: string;
  /** At most 4 KiB. */
  message: string;
  /** At most 32 KiB. */
  stack: string | null;
  /** The same for errors that look alike. */
  fingerprint: string | null;
  /** The attempt that failed, from 1. */
  attempt: number;
  /** When. */
  at: string;
}

/** One start of a job. */
export interface Attempt {
  /** Counts every start, from 1. */
  n: number;
  /** The number that the handler saw; snoozed and released attempts give theirs back. */
  attempt: number;
  /** The worker's name. */
  worker: string | null;
  /** When the worker got the job. */
  startedAt: string;
  /** Null while it runs. */
  finishedAt: string | null;
  /** `running`, or how it ended, as `succeeded`, `failed` or `lease_expired`. */
  outcome: string;
  /** Null unless it failed. */
  error: JobError | null;
}

/** How much a line of a log matters. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** A line of a job's log. */
export interface LogLine {
  /** Rises along the job's lines. */
  seq: number;
  /** The attempt that wrote it, from 1. */
  attempt: number;
  /** When it was written, by the worker's clock. */
  at: string;
  /** `info`, where the worker named none. */
  level: LogLevel;
  /** At most 8 KiB. */
  message: string;
}

/** What made a job, if a schedule did. */
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
  /** Where it waits. */
  queue: string;
  /** What its handler is attached to. */
  type: string;
  /** Where it stands. */
  state: JobState;
  /** Lower runs first. */
  priority: number;
  /** Attempts started, less those that ended snoozed or released. */
  attempt: number;
  /** With this attempt's failure it is dead. */
  maxAttempts: number;
  /** Leases that ran out. */
  crashes: number;
  /** Rises with every retry by hand. */
  generation: number;
  /** Rises with every change. */
  version: number;
  /** When it was submitted. */
  createdAt: string;
  /** When it is, or was, due. */
  runAt: string;
  /** If it has not started by then it expires. */
  expiresAt: string | null;
  /** The last start. */
  startedAt: string | null;
  /** Null until it has ended. */
  finishedAt: string | null;
  /** Null unless it runs. */
  leaseExpiresAt: string | null;
  /** The name of the worker that runs it. */
  worker: string | null;
  /** Its worker has been asked to end it. */
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
  /** Left out if no schedule made it. */
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

/** A part of a list. */
export interface Page<Item> {
  /** In the order of the list. */
  items: Item[];
  /** Null on the last page. */
  nextCursor: string | null;
}

/** Which part of a list a call shows. */
export interface PageOptions {
  /** The most items of a page, 1 to 1,000. Default 50. */
  limit?: number;
  /** The `nextCursor` of the page before. */
  cursor?: string;
}

/** Which jobs a list shows; all that is given must hold. */
export interface JobFilter {
  /** One state, or any of several. */
  state?: JobState | JobState[];
  /** The queue's name. */
  queue?: string;
  /** The type's name. */
  type?: string;
  /** One of the job's tags. */
  tag?: string;
  /** At this time or later. */
  createdAfter?: TimeInput;
  /** Before this time. */
  createdBefore?: TimeInput;
  /** Words of the search language, as `state:dead error~timeout payload.user.id:42`. */
  q?: string;
  /** Waits until the list shows everything that was acknowledged before. Default false. */
  fresh?: boolean;
  /** Members that each job shows besides. */
  include?: ("payload" | "result")[];
}

/** The settings of a queue; what is left out has its default. */
export interface QueueSettings {
  /** 1 to 1,000. Default 5. */
  maxAttempts?: number;
  /** A job that loses its worker so often is dead. Default the job's `maxAttempts`. */
  maxCrashes?: number | null;
  /** For jobs that have no policy of their own. Default exponential from 5,000 to 300,000. */
  retry?: RetryPolicy;
  /** In milliseconds, 1,000 to 86,400,000. Default 30,000. */
  lease?: number;
  /** With so many ready jobs, submissions are refused with `QueueFull`. Default no bound. */
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
  /** It hands out no jobs. */
  paused: boolean;
  /** Null if none was given. */
  pauseReason: string | null;
  /** The number of its jobs by state. */
  counts: Record<JobState, number>;
  /** In milliseconds; null if no job is ready. */
  oldestReadyAge: number | null;
  /** Over the last 60 seconds. */
  rates: Record<"submittedPerS" | "startedPerS" | "succeededPerS" | "failedPerS", number>;
  /** With the defaults of those that were not set. */
  settings: Required<QueueSettings>;
  /** Rises with every change of the settings, pause or resume. */
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
  /** What to submit at each instant. */
  job: Omit<NewJob, "id" | "idempotencyKey" | "runAt" | "delay">;
  /** No instant is before it. */
  startAt?: TimeInput | null;
  /** No instant is after it. */
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
  /** Left out, a new schedule is not paused, and another stays as it is. */
  paused?: boolean;
  /** The name of the owner. Default none. */
  managedBy?: string | null;
}

/** A schedule as the server shows it. */
export interface Schedule extends Required<Omit<ScheduleSpec, "startAt" | "endAt">> {
  /** Its name. */
  name: string;
  /** No instant is before it. */
  startAt: string | null;
  /** No instant is after it. */
  endAt: string | null;
  /** Rises with every change, pause or resume. */
  version: number;
  /** `ended` has no instant left; `broken` can't know its instants, and `error` says why. */
  state: "active" | "paused" | "ended" | "broken";
  /** The reason of the pause. */
  reason: string | null;
  /** Why it is broken. */
  error: string | null;
  /** When it was made. */
  createdAt: string;
  /** The last change of `version`. */
  updatedAt: string;
  /** The newest instant that made a job. */
  lastScheduledAt: string | null;
  /** That job. */
  lastJobId: string | null;
  /** The next instants, at most five. */
  next: string[];
  /** When it is due, in plain words. */
  description: string;
  /** What is allowed, but probably not meant. */
  warnings?: string[];
}

/** All schedules of one owner. */
export interface ScheduleSet {
  /** The name of the owner. */
  managedBy: string;
  /** By name; at most 10,000. */
  schedules: Record<string, ScheduleSpec>;
  /** Delete the owner's schedules that the set does not name. Default false. */
  prune?: boolean;
  /** Answer as if it were done, and do nothing. Default false. */
  dryRun?: boolean;
  /** Take over schedules of other owners. Default false. */
  force?: boolean;
}

/** The names of the schedules by what was done to them, sorted. */
export interface ScheduleSetAnswer {
  /** New ones. */
  created: string[];
  /** Those that differed. */
  updated: string[];
  /** Those that were the same. */
  unchanged: string[];
  /** Those that `prune` deleted. */
  deleted: string[];
}

/** An expression to explain: either `cron` or `every`. */
export interface PreviewRequest {
  /** As of a schedule. */
  cron?: string | null;
  /** In milliseconds, counted from the Unix epoch. */
  every?: number | null;
  /** An IANA name. Default `UTC`. */
  timezone?: string;
  /** The instants from this time on. Default now. */
  from?: TimeInput;
  /** 1 to 1,000. Default 5. */
  count?: number;
  /** Default `run`. */
  dstGap?: "run" | "skip";
  /** Default `once`. */
  dstOverlap?: "once" | "twice";
}

/** What an expression means. */
export interface Preview {
  /** When it is due, in plain words. */
  description: string;
  /** The instants, oldest first. */
  next: string[];
  /** What is allowed, but probably not meant. */
  warnings?: string[];
}

/** A past range of instants. */
export interface BackfillRequest {
  /** The instants at this time or later. */
  from: TimeInput;
  /** The instants before this time, which must not be later than now. */
  to: TimeInput;
  /** 1 to 1,000 jobs. Default 1,000. */
  limit?: number;
  /** Count only. Default false. */
  dryRun?: boolean;
  /** Also instants whose jobs the queue has forgotten. Default false. */
  rerun?: boolean;
}

/** What a backfill did. */
export interface BackfillAnswer {
  /** New jobs. */
  submitted: number;
  /** Instants passed over, since their job still exists. */
  existing: number;
  /** Whether instants are left: then call again. */
  more: boolean;
}

/** What became of an instant of a schedule. */
export interface Run {
  /** The instant; with `count`, the newest of them. */
  scheduledAt: string;
  /** When this was decided. */
  at: string;
  /** Null if no job was submitted. */
  jobId: string | null;
  /** Whether a job was submitted, and why not. */
  outcome: "submitted" | "skipped_overlap" | "skipped_missed" | "replaced" | "refused";
  /** For how many instants it stands, if not one. */
  count?: number;
  /** Why it was refused. */
  error?: string;
}
