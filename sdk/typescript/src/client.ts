import { Link, type Call, type CallOptions } from "./call.js";
import { pause } from "./backoff.js";
import { errorOf, InvalidState, WaitTimeout, type MillraceError, type Problem } from "./errors.js";
import { IdMaker, type Random } from "./ids.js";
import { JobType } from "./job-type.js";
import { plainJson, type JsonCodec } from "./json.js";
import type { Transport } from "./transport.js";
import {
  FINAL_STATES,
  type BackfillAnswer,
  type BackfillRequest,
  type Include,
  type Job,
  type JobFilter,
  type LogLine,
  type NewJob,
  type Page,
  type PageOptions,
  type Preview,
  type PreviewRequest,
  type Queue,
  type QueueSettings,
  type Run,
  type Schedule,
  type ScheduleSet,
  type ScheduleSetAnswer,
  type ScheduleSpec,
  type SubmitOptions,
  type TimeInput,
} from "./types.js";
import { decode, encode } from "./wire.js";

/** W3C trace context. */
export interface TraceContext {
  /** At most 512 bytes. */
  traceparent: string;
  /** At most 512 bytes. */
  tracestate?: string | undefined;
}

/** How a client reaches its server. */
export interface ClientOptions {
  /** The server's address. Default `MILLRACE_URL`, else `http://127.0.0.1:7600`. */
  url?: string | undefined;
  /** Default `MILLRACE_TOKEN`, else none. */
  token?: string | undefined;
  /** The bound on each call, tries and pauses included, in milliseconds. Default 30,000. */
  timeout?: number | undefined;
  /** Reads and writes payloads, results and checkpoints. Default `plainJson`. */
  json?: JsonCodec | undefined;
  /** Gives the trace context of the present moment, for submissions that name none. */
  traceContext?: (() => TraceContext | undefined) | undefined;
  /** Sends the requests in place of the platform's own means. */
  fetch?: typeof fetch | undefined;
}

/** What the client needs of the place where it runs. */
export interface Platform {
  transport: Transport;
  setting(name: string): string | undefined;
  random: Random;
  /** The trace context of the handler that runs, if one does. */
  handlerTrace(): TraceContext | undefined;
}

/** The answer to a submission. */
export interface Submitted<Payload = unknown, Result = unknown> {
  /** The job as the server has it. */
  job: Job<Payload, Result>;
  /** False if the job existed already: its id, idempotency key or unique key was known. */
  isNew: boolean;
}

/** The answer to one job of a batch. */
export interface BatchItem {
  /** 201 for a new job, 200 for one that existed, else that of the refusal. */
  status: number;
  /** Of a refused job that which it was sent with; undefined if it had an idempotency key instead. */
  id: string | undefined;
  /** Undefined if the job was refused. */
  state: Job["state"] | "pruned" | undefined;
  /** Why it was refused. */
  error: MillraceError | undefined;
}

const DEFAULT_URL = "http://127.0.0.1:7600";
const DEFAULT_TIMEOUT = 30_000;
const LONGEST_WAIT = 60_000; // the server's bound on one request
const WAIT_MARGIN = 10_000; // for the way there and back
const MORE_THAN_A_CALL = 2 ** 31 - 1; // timers hold no more milliseconds

/**
 * Submits jobs and manages jobs, queues and schedules. One client serves a whole program. Every call
 * rejects with a `MillraceError`, and takes an `AbortSignal`.
 */
export class Client {
  /** The server's address. */
  readonly url: string;
  /** @internal */
  readonly link: Link;
  readonly #platform: Platform;
  readonly #timeout: number;
  readonly #ids: IdMaker;
  readonly #traceContext: (() => TraceContext | undefined) | undefined;

  constructor(options: ClientOptions, platform: Platform) {
    this.#platform = platform;
    this.url = (options.url ?? platform.setting("MILLRACE_URL") ?? DEFAULT_URL).replace(/\/+$/, "");
    const token = options.token ?? platform.setting("MILLRACE_TOKEN");
    this.link = new Link(this.url, token, platform.transport, options.json ?? plainJson);
    this.#timeout = options.timeout ?? DEFAULT_TIMEOUT;
    this.#ids = new IdMaker(platform.random);
    this.#traceContext = options.traceContext;
  }

  /** Names a type of jobs with its payload, its result and defaults for its submissions. */
  job<Payload = unknown, Result = unknown>(
    type: string,
    defaults: SubmitOptions = {},
  ): JobType<Payload, Result> {
    return new JobType(this, type, defaults);
  }

  /** An id for a job of this queue: a UUIDv7 that tells every server where the job lies. */
  makeId(queue = "default"): string {
    return this.#ids.make(queue);
  }

  /** Submits a job. It is safe to repeat, and is repeated after a lost answer. */
  async submit<Payload = unknown, Result = unknown>(
    job: NewJob<Payload>,
    options: CallOptions = {},
  ): Promise<Submitted<Payload, Result>> {
    const { idempotencyKey, ...members } = this.#withId(job);
    const headers = this.#traceHeaders();
    if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
    const body = encode(members, this.link.codec);
    const answer = await this.#send({ method: "POST", path: "/v1/jobs", body, headers }, options);
    const stored = decode(answer.body) as Job<Payload, Result>;
    // An id that was made here can be known only from a try of this very call.
    const isNew = answer.status === 201 || (job.id === undefined && stored.id === members.id);
    return { job: stored, isNew };
  }

  /**
   * Submits up to 1,000 jobs in one commit. The server accepts or refuses each on its own, and the
   * answers are in the order of the jobs. With `atomic` it stores all or none, and the call fails if
   * it stores none.
   */
  async submitBatch(
    jobs: NewJob[],
    options: CallOptions & { atomic?: boolean | undefined } = {},
  ): Promise<BatchItem[]> {
    const body = encode(
      { jobs: jobs.map((job) => this.#withId(job)), atomic: options.atomic },
      this.link.codec,
    );
    const headers = this.#traceHeaders();
    const call = { method: "POST", path: "/v1/jobs/batch", body, headers };
    const answer = await this.#send(call, options);
    const { results } = answer.body as { results: (Omit<BatchItem, "error"> & RefusedItem)[] };
    return results.map(({ status, id, state, error }) => ({
      status,
      id,
      state,
      error: error && errorOf(error, status),
    }));
  }

  /** One job, always current. */
  get<Payload = unknown, Result = unknown>(
    id: string,
    options: CallOptions & { include?: Include[] | undefined } = {},
  ): Promise<Job<Payload, Result>> {
    return this.#ask("GET", `/v1/jobs/${name(id)}${query({ include: options.include })}`, options);
  }

  /**
   * Waits until the job has ended, also badly: its `state` tells. Rejects with `WaitTimeout` once
   * `timeout` milliseconds are over; without it, it waits for ever.
   */
  async wait<Payload = unknown, Result = unknown>(
    id: string,
    options: CallOptions = {},
  ): Promise<Job<Payload, Result>> {
    const { timeout = MORE_THAN_A_CALL, signal } = options;
    const deadline = performance.now() + timeout;
    for (;;) {
      const left = Math.max(deadline - performance.now(), 0);
      const asked = performance.now();
      const wait = Math.round(Math.min(left, LONGEST_WAIT));
      const parameters = query({ until: "final", wait_ms: wait, include: ["result"] });
      const path = `/v1/jobs/${name(id)}${parameters}`;
      const tryTimeout = wait + WAIT_MARGIN;
      const call = { method: "GET", path, tryTimeout };
      const answer = await this.#send(call, { timeout: Math.max(left, tryTimeout), signal });
      const job = decode(answer.body) as Job<Payload, Result>;
      if (FINAL_STATES.has(job.state)) return job;
      if (performance.now() >= deadline) {
        throw new WaitTimeout(`job ${id} is ${job.state} after ${Math.round(timeout)} ms`);
      }
      // A server that is about to stop lets no request wait.
      if (performance.now() - asked < wait / 2) await pause(Math.min(250, wait), signal);
    }
  }

  /** One page of the jobs, newest first. The list is at most 1 s behind. */
  list(filter: JobFilter = {}, options: CallOptions & PageOptions = {}): Promise<Page<Job>> {
    const { createdAfter, createdBefore, ...plain } = filter;
    const parameters = query({
      ...plain,
      created_after: time(createdAfter),
      created_before: time(createdBefore),
      ...page(options),
    });
    return this.#ask("GET", `/v1/jobs${parameters}`, options);
  }

  /** All jobs of the list, page after page of `limit` jobs. */
  async *listAll(
    filter: JobFilter = {},
    options: CallOptions & PageOptions = {},
  ): AsyncGenerator<Job, void, undefined> {
    let cursor = options.cursor;
    for (;;) {
      const shown: Page<Job> = await this.list(filter, cursor ? { ...options, cursor } : options);
      yield* shown.items;
      if (shown.nextCursor === null) return;
      cursor = shown.nextCursor;
    }
  }

  /** The log lines of a job, oldest first. */
  logs(id: string, options: CallOptions & PageOptions = {}): Promise<Page<LogLine>> {
    return this.#ask("GET", `/v1/jobs/${name(id)}/logs${query(page(options))}`, options);
  }

  /** Cancels a waiting job at once; asks the worker of a running one. `reason`: 1,024 bytes. */
  async cancel(
    id: string,
    options: CallOptions & { reason?: string | undefined } = {},
  ): Promise<Job> {
    let tries = 0;
    const body = encode({ reason: options.reason });
    const call = { method: "POST", path: `/v1/jobs/${name(id)}/cancel`, body };
    try {
      const answer = await this.#send({ ...call, onTry: () => tries++ }, options);
      return decode(answer.body) as Job;
    } catch (error) {
      // Perhaps an earlier try of this call has cancelled it, and its answer was lost.
      if (!(error instanceof InvalidState) || tries < 2) throw error;
      const job = await this.get(id, options);
      if (job.state !== "cancelled") throw error;
      return job;
    }
  }

  /** Makes an ended job ready again, or due at `runAt`. */
  retry(
    id: string,
    options: CallOptions & {
      runAt?: TimeInput | undefined;
      /** Whether `attempt` starts again at 0. Default true. */
      resetAttempts?: boolean | undefined;
    } = {},
  ): Promise<Job> {
    const { runAt, resetAttempts } = options;
    const path = `/v1/jobs/${name(id)}/retry`;
    return this.#ask("POST", path, options, { runAt, resetAttempts }, { repeat: "unless_begun" });
  }

  /** Deletes a job that is not running. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.#send({ method: "DELETE", path: `/v1/jobs/${name(id)}` }, options);
  }

  /** One page of the queues, by name. */
  queues(options: CallOptions & PageOptions = {}): Promise<Page<Queue>> {
    return this.#ask("GET", `/v1/queues${query(page(options))}`, options);
  }

  /** One queue, always current. */
  queue(queue: string, options: CallOptions = {}): Promise<Queue> {
    return this.#ask("GET", `/v1/queues/${name(queue)}`, options);
  }

  /** Replaces the settings, and makes the queue if there is none. What is left out has its default. */
  putQueue(
    queue: string,
    settings: QueueSettings = {},
    options: CallOptions & IfMatch = {},
  ): Promise<Queue> {
    const headers = ifMatch(options);
    return this.#ask("PUT", `/v1/queues/${name(queue)}`, options, settings, { headers });
  }

  /** Changes the settings that are named. With `create` it makes the queue if there is none. */
  patchQueue(
    queue: string,
    settings: QueueSettings,
    options: CallOptions & IfMatch & { create?: boolean | undefined } = {},
  ): Promise<Queue> {
    const path = `/v1/queues/${name(queue)}${query({ create: options.create })}`;
    const headers = ifMatch(options);
    return this.#ask("PATCH", path, options, settings, { headers, repeat: "unless_begun" });
  }

  /** Stops handing out jobs; submissions go on. `reason`: 1,024 bytes. */
  pauseQueue(
    queue: string,
    options: CallOptions & { reason?: string | undefined; create?: boolean | undefined } = {},
  ): Promise<Queue> {
    const path = `/v1/queues/${name(queue)}/pause${query({ create: options.create })}`;
    return this.#ask("POST", path, options, { reason: options.reason });
  }

  /** Hands out jobs again. */
  resumeQueue(queue: string, options: CallOptions = {}): Promise<Queue> {
    return this.#ask("POST", `/v1/queues/${name(queue)}/resume`, options);
  }

  /** Deletes a queue that has no jobs; with `force` its jobs too. */
  async deleteQueue(
    queue: string,
    options: CallOptions & { force?: boolean | undefined } = {},
  ): Promise<void> {
    const path = `/v1/queues/${name(queue)}${query({ force: options.force })}`;
    await this.#send({ method: "DELETE", path }, options);
  }

  /** One page of the schedules, by name. */
  schedules(
    options: CallOptions &
      PageOptions & { managedBy?: string | undefined; queue?: string | undefined } = {},
  ): Promise<Page<Schedule>> {
    const { managedBy, queue } = options;
    const parameters = query({ managed_by: managedBy, queue, ...page(options) });
    return this.#ask("GET", `/v1/schedules${parameters}`, options);
  }

  /** One schedule, always current. */
  schedule(schedule: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#ask("GET", `/v1/schedules/${name(schedule)}`, options);
  }

  /** Makes a schedule, or replaces its specification. The same one again changes nothing. */
  putSchedule(
    schedule: string,
    spec: ScheduleSpec,
    options: CallOptions & IfMatch = {},
  ): Promise<Schedule> {
    const headers = ifMatch(options);
    return this.#ask("PUT", `/v1/schedules/${name(schedule)}`, options, spec, { headers });
  }

  /** Deletes a schedule. Its jobs stay. */
  async deleteSchedule(schedule: string, options: CallOptions & IfMatch = {}): Promise<void> {
    const path = `/v1/schedules/${name(schedule)}`;
    await this.#send({ method: "DELETE", path, headers: ifMatch(options) }, options);
  }

  /** Stops firing. `reason`: 1,024 bytes. */
  pauseSchedule(
    schedule: string,
    options: CallOptions & { reason?: string | undefined } = {},
  ): Promise<Schedule> {
    const body = { reason: options.reason };
    return this.#ask("POST", `/v1/schedules/${name(schedule)}/pause`, options, body);
  }

  /** Fires again, from the next instant on. */
  resumeSchedule(schedule: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#ask("POST", `/v1/schedules/${name(schedule)}/resume`, options);
  }

  /** Submits one job of the schedule now. `scheduledAt` is the instant that the job is told. */
  triggerSchedule(
    schedule: string,
    options: CallOptions & { scheduledAt?: TimeInput | undefined } = {},
  ): Promise<Job> {
    const body = { scheduledAt: options.scheduledAt };
    const headers = { "idempotency-key": this.makeId() };
    const path = `/v1/schedules/${name(schedule)}/trigger`;
    return this.#ask("POST", path, options, body, { headers });
  }

  /** Submits the jobs of the instants of a past range, oldest first. */
  backfillSchedule(
    schedule: string,
    range: BackfillRequest,
    options: CallOptions = {},
  ): Promise<BackfillAnswer> {
    const headers = { "idempotency-key": this.makeId() };
    const path = `/v1/schedules/${name(schedule)}/backfill`;
    return this.#ask("POST", path, options, range, { headers });
  }

  /** What became of the schedule's last instants, newest first; at most 100. */
  async scheduleRuns(schedule: string, options: CallOptions = {}): Promise<Run[]> {
    const path = `/v1/schedules/${name(schedule)}/runs`;
    return (await this.#ask<{ items: Run[] }>("GET", path, options)).items;
  }

  /** Says in words what an expression means, and when it is due. Changes nothing. */
  previewSchedule(request: PreviewRequest, options: CallOptions = {}): Promise<Preview> {
    return this.#ask("POST", "/v1/schedules/preview", options, request);
  }

  /** Applies the whole set of one owner's schedules. */
  applySchedules(set: ScheduleSet, options: CallOptions = {}): Promise<ScheduleSetAnswer> {
    return this.#ask("PUT", "/v1/schedules", options, set);
  }

  /** @internal The job with an id, and with the trace context of the present moment. */
  prepared(job: NewJob): NewJob {
    const trace = this.#trace();
    const { idempotencyKey: _, ...members } = this.#withId({ ...job, idempotencyKey: undefined });
    return job.traceparent === undefined && trace ? { ...members, ...trace } : members;
  }

  #withId<Payload>(job: NewJob<Payload>): NewJob<Payload> {
    if (job.id !== undefined || job.idempotencyKey !== undefined) return job;
    return { ...job, id: this.makeId(job.queue) };
  }

  #trace(): TraceContext | undefined {
    return this.#traceContext?.() ?? this.#platform.handlerTrace();
  }

  // In headers, which apply to jobs without a `traceparent`: the body of a repetition is the same.
  #traceHeaders(): Record<string, string> {
    const trace = this.#trace();
    if (!trace) return {};
    const { traceparent, tracestate } = trace;
    return tracestate ? { traceparent, tracestate } : { traceparent };
  }

  async #ask<Value>(
    method: string,
    path: string,
    options: CallOptions,
    body?: unknown,
    more: Pick<Call, "headers" | "repeat"> = {},
  ): Promise<Value> {
    const text = body === undefined ? undefined : encode(body, this.link.codec);
    const answer = await this.#send({ method, path, body: text, ...more }, options);
    return decode(answer.body) as Value;
  }

  #send(call: Call, options: CallOptions): ReturnType<Link["call"]> {
    return this.link.call(call, options.timeout ?? this.#timeout, options.signal);
  }
}

/** The version that a change expects; another one is refused with `VersionConflict`. */
export interface IfMatch {
  /** The `version` that was read. */
  ifMatch?: number | undefined;
}

interface RefusedItem {
  error?: Problem;
}

function ifMatch(options: IfMatch): Record<string, string> {
  return options.ifMatch === undefined ? {} : { "if-match": `"${options.ifMatch}"` };
}

const name = encodeURIComponent;

const time = (at: TimeInput | undefined): string | undefined =>
  at instanceof Date ? at.toISOString() : at;

const page = ({ limit, cursor }: PageOptions): Pick<PageOptions, "limit" | "cursor"> => ({
  ...(limit !== undefined && { limit }),
  ...(cursor !== undefined && { cursor }),
});

type Parameter = string | number | boolean | string[] | undefined;

function query(parameters: Record<string, Parameter>): string {
  const words = Object.entries(parameters).flatMap(([key, value]) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    return [`${key}=${encodeURIComponent(String(value))}`];
  });
  return words.length === 0 ? "" : `?${words.join("&")}`;
}
