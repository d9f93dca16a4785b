import { Context, type RunningJob, type Surroundings } from "../context.js";
import { outcomeOfRun, type Handlers } from "../handling.js";
import type { JsonCodec } from "../json.js";
import { refused, type Outcome } from "../outcome.js";
import type { TransportAnswer, TransportRequest } from "../transport.js";
import { FakeJob } from "./fake-job.js";
import { FakeSetup } from "./fake-setup.js";
import { parentsOf } from "./fake-workflow.js";
import { FakeWorkflows, type Place } from "./fake-workflows.js";
import { invalid, Refusal } from "./refusal.js";
import { faultsOf, readBody, retryDelay, type FaultOfBody, type Submission } from "./submission.js";

const BEGIN = Date.UTC(2030, 0, 1);
const KEY_WINDOW = 86_400_000; // how long an idempotency key holds, in milliseconds
const MOST_PAYLOAD = 1 << 20;
const MOST_ATTEMPTS = 100_000; // in one drain; stops jobs that submit jobs for ever

/** An answer that the fake gives. */
interface Reply {
  status: number;
  text: string;
}

/** The services that the fake's jobs need from their environment. */
export interface FakePlace {
  client(): Surroundings["client"];
  format(values: unknown[]): string;
  /** Runs something as part of a handler. */
  within<Value>(ctx: Context, run: () => Value): Value;
  /** Whether a job that is due runs during its submission. */
  runsInline: boolean;
}

/** The jobs of a fake, and the answers of the server. */
export class FakeServer {
  now = BEGIN;
  readonly #handlers: Handlers;
  readonly #place: FakePlace;
  readonly #jobs = new Map<string, FakeJob>();
  readonly #setup = new FakeSetup();
  readonly #keys = new Map<string, { body: string; id: string; until: number }>();
  readonly #running = new Map<string, Context>();
  readonly #added: FakeJob[] = []; // submitted by an outcome or a workflow; inline, they run then
  readonly #workflows = new FakeWorkflows({
    now: () => this.now,
    makeId: () => this.#place.client().makeId(),
    admit: (given, place) => this.#admit(given, place),
    cancel: (job) => this.#cancel(job),
  });
  #token = 0;

  constructor(handlers: Handlers, place: FakePlace) {
    this.#handlers = handlers;
    this.#place = place;
  }

  /** All jobs, in the order of their submission. */
  get jobs(): FakeJob[] {
    for (const job of this.#jobs.values()) job.settle(this.now);
    this.#workflows.advance();
    return [...this.#jobs.values()];
  }

  /** Answers a request as the server would. */
  async answer({ method, url, headers, body }: TransportRequest): Promise<TransportAnswer> {
    const { pathname, searchParams } = new URL(url);
    let reply: Reply;
    try {
      reply = await this.#route(method, pathname, searchParams, headers, body ?? "{}");
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      reply = { status: refusal.status, text: refusal.text() };
    }
    return { ...reply, header: () => undefined };
  }

  /** Runs every job that is due and has a handler. Returns the number of attempts. */
  async drain(): Promise<number> {
    for (let ran = 0; ; ran++) {
      if (ran === MOST_ATTEMPTS) throw new Error(`${ran} attempts ran, and jobs are still due`);
      const [next] = this.jobs.filter((job) => this.#isDue(job)).sort(compare);
      if (!next) return ran;
      await this.#run(next);
    }
  }

  #isDue(job: FakeJob): boolean {
    return job.state === "ready" && this.#handlers.has(job.given.type);
  }

  async #route(
    method: string,
    path: string,
    query: URLSearchParams,
    headers: Record<string, string>,
    body: string,
  ): Promise<Reply> {
    const include = (query.get("include") ?? "").split(",");
    const [, id = "", action] = /^\/v1\/jobs\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
    const isOfJob = id !== "" && id !== "batch";
    switch (`${method} ${isOfJob ? `job/${action ?? ""}` : path}`) {
      case "POST /v1/jobs":
        return this.#submit(body, headers);
      case "POST /v1/jobs/batch":
        return this.#submitBatch(body, headers);
      case "GET /v1/jobs":
        return { status: 200, text: this.#list(query, include) };
      case "GET job/":
        return { status: 200, text: this.#find(id).text(include) };
      case "GET job/logs":
        return {
          status: 200,
          text: JSON.stringify({ items: this.#find(id).lineViews(), next_cursor: null }),
        };
      case "POST job/cancel":
        return { status: 200, text: this.#cancel(this.#find(id)).text(include) };
      case "POST job/retry":
        return { status: 200, text: (await this.#retry(this.#find(id), body)).text(include) };
      default:
        return this.#others(method, path, query, headers, body);
    }
  }

  // Workflows, queues, limits and schedules.
  async #others(
    method: string,
    path: string,
    query: URLSearchParams,
    headers: Record<string, string>,
    body: string,
  ): Promise<Reply> {
    if (path.startsWith("/v1/workflows")) {
      void this.jobs; // some may have expired
      const shown = this.#workflows.answer(method, path, query, headers, body);
      await this.#followUp();
      if (shown) return shown;
    }
    const [, schedule] = /^\/v1\/schedules\/([^/]+)\/trigger$/.exec(path) ?? [];
    if (method === "POST" && schedule) {
      const job = this.#setup.jobOf(decodeURIComponent(schedule));
      const { job: made } = this.#store(job, undefined, "");
      await this.#runInline([made]);
      return { status: 201, text: made.text([]) };
    }
    const reply = this.#setup.answer(method, path, query, body, this.now);
    if (!reply) {
      throw new Refusal(501, "not_in_fake", `the fake does not answer ${method} ${path}`);
    }
    return reply;
  }

  // Submissions.

  async #submit(body: string, headers: Record<string, string>): Promise<Reply> {
    const key = headers["idempotency-key"];
    const given = readBody(body) as Submission;
    const faults = faultsOf(given);
    if (faults.length) throw invalid(faults);
    const { job, isNew } = this.#store({ ...traceOf(headers), ...given }, key, body);
    if (isNew) await this.#runInline([job]);
    return { status: isNew ? 201 : 200, text: job.text([]) };
  }

  async #submitBatch(body: string, headers: Record<string, string>): Promise<Reply> {
    const { jobs, defaults, atomic } = readBody(body) as {
      jobs: Submission[];
      defaults?: Partial<Submission>;
      atomic?: boolean;
    };
    const given = jobs.map((job) => ({ ...traceOf(headers), ...defaults, ...job }));
    if (atomic) this.#checkAll(given);
    const added: FakeJob[] = [];
    const results = given.map((each) => {
      try {
        const faults = faultsOf(each);
        if (faults.length) throw invalid(faults);
        const { idempotency_key: key, ...members } = each;
        const { job, isNew } = this.#store(members, key, JSON.stringify([members, defaults]));
        if (isNew) added.push(job);
        return { status: isNew ? 201 : 200, id: job.id, state: job.state };
      } catch (refusal) {
        if (!(refusal instanceof Refusal)) throw refusal;
        return {
          status: refusal.status,
          id: each.id,
          error: JSON.parse(refusal.text()) as unknown,
        };
      }
    });
    await this.#runInline(added);
    return { status: 200, text: JSON.stringify({ results }) };
  }

  #checkAll(jobs: Submission[]): void {
    const refusals = jobs.flatMap((job, n): FaultOfBody[] => {
      const faults = faultsOf(job);
      return faults.map(({ pointer, detail }) => ({ pointer: `/jobs/${n}${pointer}`, detail }));
    });
    if (refusals.length) throw invalid(refusals);
    jobs.forEach((job, n) => {
      const known = this.#known(job, undefined, "");
      if (known instanceof Refusal) throw new Refusal(409, known.code, `job ${n}: ${known.detail}`);
      try {
        if (!known) this.#setup.checkLimits(job.limits);
      } catch (refusal) {
        throw refusal instanceof Refusal
          ? invalid([{ pointer: `/jobs/${n}`, detail: refusal.detail }])
          : refusal;
      }
    });
  }

  #store(
    given: Submission,
    key: string | undefined,
    body: string,
  ): { job: FakeJob; isNew: boolean } {
    const known = this.#known(given, key, body);
    if (known instanceof Refusal) throw known;
    if (known) return { job: known, isNew: false };
    this.#setup.checkLimits(given.limits);
    this.#checkRoom(given.queue ?? "default");
    const job = this.#add(given);
    if (key !== undefined) {
      this.#keys.set(`${job.queue} ${key}`, { body, id: job.id, until: this.now + KEY_WINDOW });
    }
    return { job, isNew: true };
  }

  #add(given: Submission): FakeJob {
    const number = this.#jobs.size + 1;
    const id = given.id ?? fakeId(this.now, number);
    const job = new FakeJob(this.#setup.completed(given), id, number, this.now);
    this.#jobs.set(job.id, job);
    return job;
  }

  // Stores a job of a workflow, which a full queue does not hold back.
  #admit(given: Submission, place: Place): FakeJob {
    this.#setup.checkLimits(given.limits);
    const job = this.#add(given);
    job.place = place;
    this.#added.push(job);
    return job;
  }

  #checkRoom(queue: string): void {
    const most = this.#setup.maxReady(queue);
    const ready = this.jobs.filter((job) => job.queue === queue && job.state === "ready").length;
    if (ready >= most) throw new Refusal(429, "queue_full", `the queue has ${ready} ready jobs`);
  }

  // Returns the existing job for a submission, or why the submission is refused.
  #known(given: Submission, key: string | undefined, body: string): FakeJob | Refusal | undefined {
    const queue = given.queue ?? "default";
    const byKey = key === undefined ? undefined : this.#keys.get(`${queue} ${key}`);
    if (byKey && this.now < byKey.until) {
      if (byKey.body === body) return this.#find(byKey.id);
      return new Refusal(422, "idempotency_mismatch", "the key was used with another body");
    }
    if (MOST_PAYLOAD < Buffer.byteLength(given.payload ?? "")) {
      return new Refusal(413, "payload_too_large", "the payload is larger than 1 MiB");
    }
    const byId = given.id === undefined ? undefined : this.#jobs.get(given.id);
    if (byId) {
      byId.settle(this.now);
      if (byId.queue !== queue)
        return new Refusal(409, "duplicate_job", "another queue has this id");
      return byId.isSameAs(given)
        ? byId
        : new Refusal(409, "id_mismatch", "another job has this id");
    }
    return this.#holder(given, queue);
  }

  #holder(given: Submission, queue: string): FakeJob | Refusal | undefined {
    const { unique } = given;
    if (!unique) return undefined;
    const isHolder = (job: FakeJob): boolean =>
      job.queue === queue && job.given.unique?.key === unique.key && job.holdsKey(this.now);
    const holder = this.jobs.filter(isHolder).at(-1);
    if (!holder) return undefined;
    if (unique.on_conflict === "replace" && holder.state !== "running") {
      if (!holder.hasEnded) holder.end("cancelled", this.now);
      return undefined;
    }
    if ((unique.on_conflict ?? "return") === "return") return holder;
    return new Refusal(409, "duplicate_job", `job ${holder.id} holds the unique key`);
  }

  // Jobs.

  #find(id: string): FakeJob {
    const job = this.#jobs.get(id);
    if (!job) throw new Refusal(404, "not_found", "there is no such job");
    job.settle(this.now);
    return job;
  }

  #list(query: URLSearchParams, include: string[]): string {
    if (query.has("q")) throw new Refusal(501, "not_in_fake", "the fake can't search by q");
    const limit = Number(query.get("limit") ?? 50);
    const before = Number(query.get("cursor") ?? Infinity);
    const states = query.get("state")?.split(",");
    const fits = (job: FakeJob): boolean =>
      job.number < before &&
      (!states || states.includes(job.state)) &&
      (query.get("queue") ?? job.queue) === job.queue &&
      (query.get("type") ?? job.given.type) === job.given.type &&
      (!query.has("tag") || (job.given.tags ?? []).includes(query.get("tag") as string)) &&
      Date.parse(query.get("created_after") ?? "1970") <= job.createdAt &&
      Date.parse(query.get("created_before") ?? "9999") > job.createdAt;
    const found = this.jobs.filter(fits).reverse();
    const shown = found.slice(0, limit);
    const next = found.length > limit ? String(shown[limit - 1]?.number) : null;
    const items = shown.map((job) => job.text(include)).join(",");
    return `{"items":[${items}],"next_cursor":${JSON.stringify(next)}}`;
  }

  #cancel(job: FakeJob): FakeJob {
    if (job.hasEnded) throw new Refusal(409, "invalid_state", `the job is ${job.state}`);
    if (job.state !== "running") {
      job.end("cancelled", this.now);
      return job;
    }
    job.version++;
    job.isCancelRequested = true;
    this.#running.get(job.id)?.tell("cancelled");
    return job;
  }

  async #retry(job: FakeJob, body: string): Promise<FakeJob> {
    if (!job.hasEnded) throw new Refusal(409, "invalid_state", `the job is ${job.state}`);
    if (job.place?.member) {
      throw new Refusal(409, "invalid_state", "the job belongs to a workflow, which retries it");
    }
    const { run_at: at, reset_attempts: resets = true } = JSON.parse(body) as {
      run_at?: string;
      reset_attempts?: boolean;
    };
    if (resets) job.attempt = 0;
    job.generation++;
    job.version++;
    job.finishedAt = null;
    job.expiresAt = null;
    job.isCancelRequested = false;
    job.dueAt = at ? Date.parse(at) : this.now;
    job.state = job.dueAt > this.now ? "scheduled" : "ready";
    await this.#runInline([job]);
    return job;
  }

  // Attempts.

  async #runInline(jobs: FakeJob[]): Promise<void> {
    if (!this.#place.runsInline) return;
    for (const job of jobs) if (this.#isDue(job)) await this.#run(job);
  }

  async #run(job: FakeJob): Promise<void> {
    job.state = "running";
    job.attempt++;
    job.starts++;
    job.version++;
    job.startedAt = this.now;
    const around: Surroundings = {
      client: this.#place.client(),
      isStopping: false,
      format: this.#place.format,
      wallClock: () => this.now,
      news: () => undefined,
    };
    const { codec } = around.client.link;
    const ctx = new Context(runningJob(job, codec), ++this.#token, around);
    this.#running.set(job.id, ctx);
    const run = (): Promise<unknown> => this.#place.within(ctx, () => this.#handlers.run(ctx));
    let outcome = await outcomeOfRun(ctx, run, codec);
    this.#running.delete(job.id);
    if (MOST_PAYLOAD < Buffer.byteLength(outcome.result ?? "")) {
      outcome = refused("the result is larger than 1 MiB");
    }
    const progress = ctx.takeProgress();
    if (progress) job.progress = { ...job.progress, ...progress };
    if (outcome.line) ctx.addLine("info", outcome.line);
    for (const line of ctx.takeLines(Infinity)) job.lines.push({ attempt: job.attempt, ...line });
    if (outcome.outcome === "succeeded") outcome = this.#commit(job, ctx) ?? outcome;
    this.#finish(job, outcome);
    await this.#followUp();
  }

  // Lets workflows go on, and inline runs what was submitted.
  async #followUp(): Promise<void> {
    this.#workflows.advance();
    await this.#runInline(this.#added.splice(0));
  }

  // Stores the jobs and members submitted with a success. If one is refused, returns the outcome
  // that replaces it.
  #commit(job: FakeJob, { enqueued, growth }: Context): Outcome | undefined {
    const followers = enqueued.map((next) => readBody(next) as Submission);
    const faults = followers.flatMap(faultsOf);
    if (faults.length) {
      const [{ pointer, detail }] = faults as [FaultOfBody];
      return refused(`enqueue: ${pointer} ${detail}`);
    }
    for (const next of followers) {
      const known = this.#known(next, undefined, "");
      if (known instanceof Refusal) return refused(`enqueue: ${known.detail}`);
    }
    try {
      if (job.place && growth) this.#workflows.growBy(job.place, growth);
    } catch (refusal) {
      if (refusal instanceof Refusal) return refused(`grow: ${refusal.detail}`);
      throw refusal;
    }
    this.#added.push(...followers.map((next) => this.#store(next, undefined, "").job));
    return undefined;
  }

  #finish(job: FakeJob, { outcome, result, error, delay }: Outcome): void {
    switch (outcome) {
      case "succeeded":
        job.result = result ?? null;
        return job.end("succeeded", this.now);
      case "snoozed":
        job.attempt--;
        return this.#wait(job, "scheduled", delay ?? 0);
      case "failed":
        if (error) {
          const { type, message, stack = null } = error;
          const at = new Date(this.now).toISOString();
          job.lastError = { type, message, stack, fingerprint: null, attempt: job.attempt, at };
        }
        if (job.isCancelRequested) return job.end("cancelled", this.now);
        if (error?.retryable === false || job.attempt >= job.maxAttempts) {
          return job.end("dead", this.now);
        }
        return this.#wait(job, "retrying", delay ?? retryDelay(job.retry, job.attempt));
      case "released":
        job.attempt--;
        return this.#wait(job, "ready", 0);
      case "cancelled":
        return job.end("cancelled", this.now);
    }
  }

  #wait(job: FakeJob, state: "scheduled" | "retrying" | "ready", delay: number): void {
    if (job.isCancelRequested) return job.end("cancelled", this.now);
    job.version++;
    job.state = state;
    job.dueAt = this.now + delay;
  }
}

function runningJob(job: FakeJob, codec: JsonCodec): RunningJob {
  const { given } = job;
  const checkpoint = job.progress?.checkpoint;
  return {
    id: job.id,
    queue: job.queue,
    type: given.type,
    get payload() {
      return codec.parse(job.payload);
    },
    payloadText: job.payload,
    attempt: job.attempt,
    maxAttempts: job.maxAttempts,
    meta: given.meta ?? {},
    tags: given.tags ?? [],
    schedule: undefined,
    workflow: job.place?.workflow,
    get parents() {
      return parentsOf(job.place?.parents ?? [], codec);
    },
    checkpoint: checkpoint === undefined ? undefined : codec.parse(checkpoint),
    traceparent: given.traceparent,
    tracestate: given.tracestate,
    priority: job.priority,
    createdAt: new Date(job.createdAt).toISOString(),
  };
}

function traceOf(headers: Record<string, string>): Pick<Submission, "traceparent" | "tracestate"> {
  const { traceparent, tracestate } = headers;
  return { ...(traceparent && { traceparent }), ...(tracestate && { tracestate }) };
}

function compare(one: FakeJob, other: FakeJob): number {
  return one.priority - other.priority || one.dueAt - other.dueAt || one.number - other.number;
}

// Makes the id of a job that has none.
function fakeId(now: number, number: number): string {
  const time = now.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, "0")}`;
}
