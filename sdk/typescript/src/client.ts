import { Link, type CallOptions } from "./call.js";
import { IdMaker, type Random } from "./ids.js";
import { JobType, type Schemas } from "./job-type.js";
import { plainJson, type JsonCodec } from "./json.js";
import { itemOf, type BatchItem } from "./operating.js";
import { ifMatch, name, page, pagesOf, query, time, type IfMatch } from "./requests.js";
import { enqueueStatement, type SqlConnection } from "./sql.js";
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
import { untilFinal } from "./waiting.js";
import type { ItemResult } from "./wire-shapes.js";
import { decode, encode } from "./wire.js";
import { Workflows } from "./workflows.js";

/** A W3C trace context. */
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
  /** The bearer token. Blanks around it are taken off. Default `MILLRACE_TOKEN`, else none. */
  token?: string | undefined;
  /** Bounds each call, including tries and pauses, in milliseconds. Default 30,000. */
  timeout?: number | undefined;
  /**
   * How long a submission to a full queue is tried, in milliseconds, within `timeout`. Short, since a
   * web request may wait for it. Default 2,000.
   */
  queueFullTimeout?: number | undefined;
  /** Reads and writes payloads, results and checkpoints. Default `plainJson`. */
  json?: JsonCodec | undefined;
  /** Returns the current trace context, for submissions that have none. */
  traceContext?: (() => TraceContext | undefined) | undefined;
  /** Sends the requests, instead of the platform's own transport. */
  fetch?: typeof fetch | undefined;
}

/** The services that the client needs from its runtime. */
export interface Platform {
  transport: Transport;
  setting(name: string): string | undefined;
  random: Random;
  /** Returns the trace context of the running handler, if there is one. */
  handlerTrace(): TraceContext | undefined;
}

/** The answer to a submission. */
export interface Submitted<Payload = unknown, Result = unknown> {
  /** The job as stored by the server. */
  job: Job<Payload, Result>;
  /** False if its id, idempotency key or unique key belongs to an existing job. */
  isNew: boolean;
}

const DEFAULT_URL = "http://127.0.0.1:7600";
const DEFAULT_TIMEOUT = 30_000;
const DEFAULT_QUEUE_FULL_TIMEOUT = 2_000;

/**
 * Submits jobs and manages jobs, workflows, queues and schedules. One client serves a whole program. Every
 * call accepts an `AbortSignal`, and rejects with a `MillraceError` if it fails.
 */
export class Client extends Workflows {
  /** The server's address. */
  readonly url: string;
  readonly #platform: Platform;
  readonly #ids: IdMaker;
  readonly #traceContext: (() => TraceContext | undefined) | undefined;

  constructor(options: ClientOptions, platform: Platform) {
    const given = options.url ?? platform.setting("MILLRACE_URL") ?? DEFAULT_URL;
    const url = given.replace(/\/+$/, "");
    const token = options.token ?? platform.setting("MILLRACE_TOKEN");
    const { json: codec = plainJson, queueFullTimeout = DEFAULT_QUEUE_FULL_TIMEOUT } = options;
    const link = new Link({ url, token, codec, queueFullTimeout }, platform.transport);
    super(link, options.timeout ?? DEFAULT_TIMEOUT);
    this.url = url;
    this.#platform = platform;
    this.#ids = new IdMaker(platform.random);
    this.#traceContext = options.traceContext;
  }

  /**
   * Returns a type of jobs with its payload, its result and the defaults of its submissions. `payload`
   * and `result` may be schemas that follow Standard Schema, and then give the types.
   */
  job<Payload = unknown, Result = unknown, GivenPayload = Payload, GivenResult = Result>(
    type: string,
    options: SubmitOptions & Schemas<Payload, Result, GivenPayload, GivenResult> = {},
  ): JobType<Payload, Result, GivenPayload, GivenResult> {
    return new JobType(this, type, options);
  }

  /** Returns a new id for a job or workflow of this queue: a UUIDv7 that tells servers its shard. */
  override makeId(queue = "default"): string {
    return this.#ids.make(queue);
  }

  /** Submits a job. The call is idempotent, and is retried after a lost answer. */
  async submit<Payload = unknown, Result = unknown>(
    job: NewJob<Payload>,
    options: CallOptions = {},
  ): Promise<Submitted<Payload, Result>> {
    const { idempotencyKey, ...members } = this.#withId(job);
    const headers = this.traceHeaders();
    if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
    const body = encode(members, this.link.codec);
    const answer = await this.send({ method: "POST", path: "/v1/jobs", body, headers }, options);
    const stored = decode(answer.body) as Job<Payload, Result>;
    // The server can know an id made here only from an earlier try of this call.
    const isNew = answer.status === 201 || (job.id === undefined && stored.id === members.id);
    return { job: stored, isNew };
  }

  /**
   * Submits up to 1,000 jobs in one commit. The server accepts or refuses each job separately, and
   * the answers are in the order of the jobs. With `atomic` it stores all or none, and the call
   * fails if it stores none.
   */
  async submitBatch(
    jobs: NewJob[],
    options: CallOptions & { atomic?: boolean | undefined } = {},
  ): Promise<BatchItem[]> {
    const body = encode(
      { jobs: jobs.map((job) => this.#withId(job)), atomic: options.atomic },
      this.link.codec,
    );
    const headers = this.traceHeaders();
    const call = { method: "POST", path: "/v1/jobs/batch", body, headers };
    const answer = await this.send(call, options);
    return (answer.body as { results: ItemResult[] }).results.map(itemOf);
  }

  /**
   * Submits a job in the transaction of a connection of node-postgres, and resolves to its id: the job
   * comes if and only if the transaction commits. The connection's database is the one in which the
   * server keeps its jobs, and its role may execute `millrace.enqueue`.
   */
  async submitTx(connection: SqlConnection, job: NewJob): Promise<string> {
    const { text, values } = enqueueStatement(
      encode(this.traced(this.#withId(job)), this.link.codec),
    );
    const { rows } = await connection.query(text, values);
    return (rows[0] as { id: string }).id;
  }

  /** Returns a job in its current state. */
  get<Payload = unknown, Result = unknown>(
    id: string,
    options: CallOptions & { include?: Include[] | undefined } = {},
  ): Promise<Job<Payload, Result>> {
    return this.ask("GET", `/v1/jobs/${name(id)}${query({ include: options.include })}`, options);
  }

  /**
   * Waits until the job has ended in any way; check its `state`. Rejects with `WaitTimeout` after
   * `timeout` milliseconds; without a timeout, it waits for ever. A job that was submitted in a
   * transaction comes a moment after the commit, so `NotFound` takes 2 s.
   */
  wait<Payload = unknown, Result = unknown>(
    id: string,
    options: CallOptions = {},
  ): Promise<Job<Payload, Result>> {
    return untilFinal(this.link, `/v1/jobs/${name(id)}`, FINAL_STATES, `job ${id}`, options);
  }

  /** Returns a page of the jobs, newest first. The list is at most 1 s behind. */
  list(filter: JobFilter = {}, options: CallOptions & PageOptions = {}): Promise<Page<Job>> {
    const { createdAfter, createdBefore, ...plain } = filter;
    const parameters = query({
      ...plain,
      created_after: time(createdAfter),
      created_before: time(createdBefore),
      ...page(options),
    });
    return this.ask("GET", `/v1/jobs${parameters}`, options);
  }

  /** Iterates over all jobs of the list, fetched in pages of `limit`. */
  listAll(
    filter: JobFilter = {},
    options: CallOptions & PageOptions = {},
  ): AsyncGenerator<Job, void, undefined> {
    return pagesOf((each) => this.list(filter, each), options);
  }

  /** Returns the log lines of a job, oldest first. */
  logs(id: string, options: CallOptions & PageOptions = {}): Promise<Page<LogLine>> {
    return this.ask("GET", `/v1/jobs/${name(id)}/logs${query(page(options))}`, options);
  }

  /** Cancels a waiting job at once; tells the worker of a running one. `reason`: 1,024 bytes. */
  cancel(id: string, options: CallOptions & { reason?: string | undefined } = {}): Promise<Job> {
    const body = encode({ reason: options.reason });
    const call = { method: "POST", path: `/v1/jobs/${name(id)}/cancel`, body };
    return this.askOrFind(call, options, async () => {
      const job = await this.get(id, options);
      return job.state === "cancelled" ? job : undefined;
    });
  }

  /** Makes a job that has ended ready again, or due at `runAt`. */
  retry(
    id: string,
    options: CallOptions & {
      runAt?: TimeInput | undefined;
      /** Resets `attempt` to 0. Default true. */
      resetAttempts?: boolean | undefined;
    } = {},
  ): Promise<Job> {
    const { runAt, resetAttempts } = options;
    const path = `/v1/jobs/${name(id)}/retry`;
    return this.ask("POST", path, options, { runAt, resetAttempts }, { repeat: "unless_begun" });
  }

  /** Deletes a job that is not running. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    await this.send({ method: "DELETE", path: `/v1/jobs/${name(id)}` }, options);
  }

  /** Returns a page of the queues, by name. */
  queues(options: CallOptions & PageOptions = {}): Promise<Page<Queue>> {
    return this.ask("GET", `/v1/queues${query(page(options))}`, options);
  }

  /** Returns a queue in its current state. */
  queue(queue: string, options: CallOptions = {}): Promise<Queue> {
    return this.ask("GET", `/v1/queues/${name(queue)}`, options);
  }

  /** Replaces a queue's settings, or creates the queue. Settings left out take their defaults. */
  putQueue(
    queue: string,
    settings: QueueSettings = {},
    options: CallOptions & IfMatch = {},
  ): Promise<Queue> {
    const headers = ifMatch(options);
    return this.ask("PUT", `/v1/queues/${name(queue)}`, options, settings, { headers });
  }

  /** Changes some settings. With `create` it creates the queue if there is none. */
  patchQueue(
    queue: string,
    settings: QueueSettings,
    options: CallOptions & IfMatch & { create?: boolean | undefined } = {},
  ): Promise<Queue> {
    const path = `/v1/queues/${name(queue)}${query({ create: options.create })}`;
    const headers = ifMatch(options);
    return this.ask("PATCH", path, options, settings, { headers, repeat: "unless_begun" });
  }

  /** Stops handing out jobs; submissions are still accepted. `reason`: 1,024 bytes. */
  pauseQueue(
    queue: string,
    options: CallOptions & { reason?: string | undefined; create?: boolean | undefined } = {},
  ): Promise<Queue> {
    const path = `/v1/queues/${name(queue)}/pause${query({ create: options.create })}`;
    return this.ask("POST", path, options, { reason: options.reason });
  }

  /** Resumes handing out jobs. */
  resumeQueue(queue: string, options: CallOptions = {}): Promise<Queue> {
    return this.ask("POST", `/v1/queues/${name(queue)}/resume`, options);
  }

  /** Deletes a queue that has no jobs; with `force`, also its jobs. */
  async deleteQueue(
    queue: string,
    options: CallOptions & { force?: boolean | undefined } = {},
  ): Promise<void> {
    const path = `/v1/queues/${name(queue)}${query({ force: options.force })}`;
    await this.send({ method: "DELETE", path }, options);
  }

  /** Returns a page of the schedules, by name. */
  schedules(
    options: CallOptions &
      PageOptions & { managedBy?: string | undefined; queue?: string | undefined } = {},
  ): Promise<Page<Schedule>> {
    const { managedBy, queue } = options;
    const parameters = query({ managed_by: managedBy, queue, ...page(options) });
    return this.ask("GET", `/v1/schedules${parameters}`, options);
  }

  /** Returns a schedule in its current state. */
  schedule(schedule: string, options: CallOptions = {}): Promise<Schedule> {
    return this.ask("GET", `/v1/schedules/${name(schedule)}`, options);
  }

  /** Creates a schedule or replaces its specification. An equal one changes nothing. */
  putSchedule(
    schedule: string,
    spec: ScheduleSpec,
    options: CallOptions & IfMatch = {},
  ): Promise<Schedule> {
    const headers = ifMatch(options);
    return this.ask("PUT", `/v1/schedules/${name(schedule)}`, options, spec, { headers });
  }

  /** Deletes a schedule. Its jobs remain. */
  async deleteSchedule(schedule: string, options: CallOptions & IfMatch = {}): Promise<void> {
    const path = `/v1/schedules/${name(schedule)}`;
    await this.send({ method: "DELETE", path, headers: ifMatch(options) }, options);
  }

  /** Stops a schedule from firing. `reason`: 1,024 bytes. */
  pauseSchedule(
    schedule: string,
    options: CallOptions & { reason?: string | undefined } = {},
  ): Promise<Schedule> {
    const body = { reason: options.reason };
    return this.ask("POST", `/v1/schedules/${name(schedule)}/pause`, options, body);
  }

  /** Makes a schedule fire again, starting at its next instant. */
  resumeSchedule(schedule: string, options: CallOptions = {}): Promise<Schedule> {
    return this.ask("POST", `/v1/schedules/${name(schedule)}/resume`, options);
  }

  /** Submits one job of the schedule now. `scheduledAt` is the job's instant. */
  triggerSchedule(
    schedule: string,
    options: CallOptions & { scheduledAt?: TimeInput | undefined } = {},
  ): Promise<Job> {
    const body = { scheduledAt: options.scheduledAt };
    const headers = { "idempotency-key": this.makeId() };
    const path = `/v1/schedules/${name(schedule)}/trigger`;
    return this.ask("POST", path, options, body, { headers });
  }

  /** Submits the jobs for a past range of instants, oldest first. */
  backfillSchedule(
    schedule: string,
    range: BackfillRequest,
    options: CallOptions = {},
  ): Promise<BackfillAnswer> {
    const headers = { "idempotency-key": this.makeId() };
    const path = `/v1/schedules/${name(schedule)}/backfill`;
    return this.ask("POST", path, options, range, { headers });
  }

  /** Returns the results of the schedule's last instants, newest first, at most 100. */
  async scheduleRuns(schedule: string, options: CallOptions = {}): Promise<Run[]> {
    const path = `/v1/schedules/${name(schedule)}/runs`;
    return (await this.ask<{ items: Run[] }>("GET", path, options)).items;
  }

  /** Describes an expression in words, with its next instants. Changes nothing. */
  previewSchedule(request: PreviewRequest, options: CallOptions = {}): Promise<Preview> {
    return this.ask("POST", "/v1/schedules/preview", options, request);
  }

  /** Applies the complete set of an owner's schedules. */
  applySchedules(set: ScheduleSet, options: CallOptions = {}): Promise<ScheduleSetAnswer> {
    return this.ask("PUT", "/v1/schedules", options, set);
  }

  /** @internal Returns the job with an id and with the current trace context. */
  prepared(job: NewJob): NewJob {
    const { idempotencyKey: _, ...members } = job;
    return this.traced(this.#withId(members));
  }

  /** @internal Returns the job with the current trace context. */
  traced<Job extends Pick<NewJob, "traceparent">>(job: Job): Job {
    const trace = job.traceparent === undefined ? this.#trace() : undefined;
    return { ...job, ...trace };
  }

  #withId<Payload>(job: NewJob<Payload>): NewJob<Payload> {
    if (job.id !== undefined || job.idempotencyKey !== undefined) return job;
    return { ...job, id: this.makeId(job.queue) };
  }

  #trace(): TraceContext | undefined {
    return this.#traceContext?.() ?? this.#platform.handlerTrace();
  }

  /**
   * @internal Headers apply to jobs without a `traceparent`, and keep the body of a repetition the
   * same.
   */
  protected override traceHeaders(): Record<string, string> {
    const trace = this.#trace();
    if (!trace) return {};
    const { traceparent, tracestate } = trace;
    return tracestate ? { traceparent, tracestate } : { traceparent };
  }
}
