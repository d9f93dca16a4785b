import { format } from "node:util";

import type { CallOptions } from "../call.js";
import type { Client } from "../client.js";
import { WaitTimeout } from "../errors.js";
import { Handlers, type Handler, type Middleware } from "../handling.js";
import type { JobType } from "../job-type.js";
import type { JsonCodec } from "../json.js";
import { Millrace } from "../node/millrace.js";
import { running } from "../node/running.js";
import type { Ending } from "../outcome.js";
import type { SqlConnection } from "../sql.js";
import {
  FINAL_STATES,
  FINAL_WORKFLOW_STATES,
  type Job,
  type NewJob,
  type Workflow,
} from "../types.js";
import { decode, parseAnswer } from "../wire.js";
import { FakeServer } from "./fake-server.js";

/** The options of a fake. */
export interface FakeOptions {
  /**
   * With `drained` (the default), a job waits for `drain`. With `inline`, a job that is due runs
   * during its submission.
   */
  mode?: "drained" | "inline" | undefined;
  /** The codec, as for the client. */
  json?: JsonCodec | undefined;
}

/**
 * A client without a server, for unit tests. Jobs wait in memory; `drain` runs those that are due
 * with the handlers attached to the fake. It answers `submit`, `submitBatch`, `get`, `list`,
 * `logs`, `cancel` and `retry` as the server does. It keeps queues, limits and schedules that are put
 * or applied: a queue's settings count, limits hold nothing back, schedules fire by
 * `triggerSchedule`. It runs workflows as the server does, without timeouts, retries, `why` and
 * graphs of them. It refuses other calls with the code `not_in_fake`. Retries have no jitter, and
 * attempts have no time limit.
 */
export class Fake extends Millrace {
  readonly #handlers = new Handlers();
  readonly #server: FakeServer;

  constructor(options: FakeOptions = {}) {
    super({ url: "http://fake", json: options.json, queueFullTimeout: 0 }); // its clock stands
    this.#server = new FakeServer(this.#handlers, {
      client: () => this,
      format: (values) => format(...values),
      within: (ctx, run) => running.run(ctx, run),
      runsInline: options.mode === "inline",
    });
    this.link.transport = (request) => this.#server.answer(request);
  }

  /** Attaches a handler to a type of jobs, as `Worker.on` does. */
  on<Payload, GivenResult>(
    job: JobType<Payload, any, any, GivenResult> | string,
    handler: Handler<Payload, GivenResult | Ending>,
  ): this {
    this.#handlers.set(job, handler);
    return this;
  }

  /** Returns whether a handler is attached to this type. */
  handles(type: string): boolean {
    return this.#handlers.has(type);
  }

  /** Wraps all handlers, as `Worker.use` does. */
  use(middleware: Middleware): this {
    this.#handlers.wrap(middleware);
    return this;
  }

  /**
   * Makes the fake answer the calls of this client, for code under test that has its own client.
   * The returned function undoes that.
   */
  answerFor(client: Client): () => void {
    const { transport } = client.link;
    const url = "http://fake";
    client.link.transport = (request) =>
      this.#server.answer({ ...request, url: url + request.url.slice(client.url.length) });
    return () => {
      client.link.transport = transport;
    };
  }

  /** The fake's clock. It starts at 2030-01-01T00:00:00Z, and only `advance` moves it. */
  get now(): Date {
    return new Date(this.#server.now);
  }

  /** Moves the clock forward by milliseconds. Nothing runs. */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError("the clock can't go back");
    this.#server.now += ms;
  }

  /**
   * Runs every job that is due, by priority and then age, including jobs that these submit. Jobs
   * without a handler keep waiting. Resolves to the number of attempts that ran.
   */
  drain(): Promise<number> {
    return this.#server.drain();
  }

  /** Returns the jobs submitted so far, oldest first, with their payloads, of all types or one. */
  enqueued<Payload = unknown, Result = unknown>(
    job?: JobType<Payload, Result> | string,
  ): (Job<Payload, Result> & { payload: Payload })[] {
    const type = typeof job === "object" ? job.type : job;
    const { codec } = this.link;
    return this.#server.jobs
      .filter((each) => type === undefined || each.given.type === type)
      .map((each) => decode(parseAnswer(each.text(["payload", "result"]), codec)) as never);
  }

  /** Resolves if the job has ended; else rejects with `WaitTimeout` at once, as no time passes. */
  override async wait<Payload = unknown, Result = unknown>(
    id: string,
    options: CallOptions = {},
  ): Promise<Job<Payload, Result>> {
    const job = await this.get<Payload, Result>(id, { ...options, include: ["result"] });
    if (FINAL_STATES.has(job.state)) return job;
    throw new WaitTimeout(`job ${id} is ${job.state}; drain the fake first`);
  }

  /** Resolves if the workflow has ended; else rejects with `WaitTimeout` at once. */
  override async waitWorkflow(id: string, options: CallOptions = {}): Promise<Workflow> {
    const workflow = await this.workflow(id, { ...options, include: ["result"] });
    if (FINAL_WORKFLOW_STATES.has(workflow.state)) return workflow;
    throw new WaitTimeout(`workflow ${id} is ${workflow.state}; drain the fake first`);
  }

  /** Takes the job at once, whatever becomes of the transaction; the connection may be anything. */
  override async submitTx(_: SqlConnection | undefined, job: NewJob): Promise<string> {
    return (await this.submit(job)).job.id;
  }

  /** Throws: the fake runs handlers itself. Attach them with `on`. */
  override worker(): never {
    throw new Error("a fake has no workers: attach handlers with on(), and run jobs with drain()");
  }
}
