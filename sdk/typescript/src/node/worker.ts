import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { format } from "node:util";

import type { Client } from "../client.js";
import { messageOf } from "../errors.js";
import type { Ending } from "../outcome.js";
import { Handlers, type Handler, type Middleware } from "../handling.js";
import type { JobType } from "../job-type.js";
import { captureConsole } from "./capture.js";
import { Engine } from "./engine.js";
import type { HttpOptions } from "./http.js";
import { Keeper } from "./keeper.js";

/** Receives the worker's messages for people. */
export interface WorkerLogger {
  /** Reports a recovery or a requested action. */
  info(message: string): void;
  /** Reports a problem that somebody should look at. */
  warn(message: string): void;
}

/** The options of a worker. Durations are in milliseconds. */
export interface WorkerOptions {
  /** The queues in order of preference, 1 to 100. Default `["default"]`. */
  queues?: string[] | undefined;
  /** How many handlers run at a time. The worker never holds more jobs than that. Default 10. */
  concurrency?: number | undefined;
  /** The length of leases in milliseconds, 1,000 to 86,400,000. Default the job's or the queue's. */
  lease?: number | undefined;
  /** How long a claim waits at the server, in milliseconds, up to 60,000. Default 10,000. */
  pollWait?: number | undefined;
  /** How long handlers may run on after a stop, in milliseconds. Default 25,000. */
  grace?: number | undefined;
  /** The worker's name. Default: host, process id and a random part. */
  id?: string | undefined;
  /**
   * The version of your program, which the server notes with each failed attempt and marks in
   * charts. Default `MILLRACE_WORKER_VERSION`, else none.
   */
  version?: string | undefined;
  /** Copies lines that handlers write to `console` to their jobs' logs. Default false. */
  captureConsole?: boolean | undefined;
  /**
   * Whether a second thread extends leases while a handler blocks this one, as a long computation
   * does. It sleeps otherwise. Not available with a custom `fetch` or `agent`. Default true.
   */
  keepsLeases?: boolean | undefined;
  /** Receives the worker's messages. Default: standard error. */
  logger?: WorkerLogger | undefined;
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * Claims jobs, runs a handler for each, extends their leases and reports the outcomes. Handlers run
 * concurrently on this thread. A worker runs only once.
 */
export class Worker {
  /** The worker's name. */
  readonly id: string;
  readonly #client: Client;
  readonly #options: WorkerOptions;
  readonly #connection: HttpOptions | undefined;
  readonly #handlers = new Handlers();
  #engine: Engine | undefined;
  #ended: Promise<void> | undefined;

  /** @internal Use `Millrace.worker`. */
  constructor(client: Client, options: WorkerOptions, connection: HttpOptions | undefined) {
    this.#client = client;
    this.#options = options;
    this.#connection = connection;
    this.id = options.id ?? ownName();
  }

  /**
   * Attaches a handler to a type of jobs, before the start. The worker claims only types that have
   * handlers, at most 100.
   */
  on<Payload, GivenResult>(
    job: JobType<Payload, any, any, GivenResult> | string,
    handler: Handler<Payload, GivenResult | Ending>,
  ): this {
    this.#handlers.set(job, handler);
    return this;
  }

  /** Wraps all handlers; the first middleware is the outermost. */
  use(middleware: Middleware): this {
    this.#handlers.wrap(middleware);
    return this;
  }

  /**
   * Works until SIGTERM, SIGINT, `stop()` or the server's command, then gives handlers the grace
   * time, which a second signal ends. Rejects with a permanent refusal, such as a wrong token.
   */
  async run(): Promise<void> {
    const engine = this.#begin(true);
    const onSignal = (): void => engine.signalled();
    for (const signal of SIGNALS) process.on(signal, onSignal);
    try {
      await this.#ended;
    } finally {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    }
  }

  /** Starts working, and returns at once. */
  start(): this {
    this.#begin(false);
    return this;
  }

  #begin(watchesSignals: boolean): Engine {
    if (this.#engine) throw new Error("a worker works once");
    if (this.#handlers.types.length === 0) throw new Error("the worker has no handlers");
    const { queues, concurrency = 10, lease, pollWait = 10_000, grace = 25_000 } = this.#options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new RangeError("concurrency must be a whole number of at least 1");
    }
    const logger = this.#options.logger ?? { info: toStandardError, warn: toStandardError };
    if (this.#options.captureConsole) captureConsole();
    const warn = (message: string): void => said(() => logger.warn(`millrace: ${message}`));
    const engine = new Engine(this.#client, this.#handlers, {
      id: this.id,
      queues: queues ?? ["default"],
      concurrency,
      lease,
      pollWait,
      grace,
      info: JSON.stringify({
        host: hostname().slice(0, 128),
        pid: process.pid,
        sdk: "typescript",
        version: this.#options.version || process.env["MILLRACE_WORKER_VERSION"] || undefined,
      }),
      notice: (message) => said(() => logger.info(`millrace: ${message}`)),
      warn,
      format: (values) => format(...values),
      keeper: this.#keeper(concurrency, warn),
      watchesSignals,
    });
    this.#engine = engine;
    this.#ended = engine.run();
    this.#ended.catch(() => undefined); // `run`, `ended` and `stop` report it
    return engine;
  }

  // The keeper's thread can't use the application's own agent or fetch.
  #keeper(rows: number, warn: (message: string) => void): Keeper | undefined {
    const { keepsLeases = true } = this.#options;
    if (!keepsLeases || !this.#connection || this.#connection.agent) return undefined;
    const { url, token } = this.#client.link;
    return new Keeper(rows, { url, token, ca: this.#connection.ca, worker: this.id }, warn);
  }

  /** Settles when the worker has ended. Rejects with the refusal that ended it, if any. */
  get ended(): Promise<void> {
    return this.#ended ?? Promise.reject(new Error("the worker has not been started"));
  }

  /** Claims no more, waits for running handlers within the grace time, and reports the last outcomes. */
  async stop(): Promise<void> {
    this.#engine?.stop();
    await this.#ended;
  }
}

function ownName(): string {
  const host = hostname()
    .replace(/[^A-Za-z0-9._:-]/g, "-")
    .slice(0, 100);
  return `${host}-${process.pid}-${randomBytes(4).toString("hex")}`;
}

// A logger that fails must not end the worker.
function said(say: () => void): void {
  try {
    say();
  } catch (fault) {
    toStandardError(`millrace: the logger failed: ${messageOf(fault)}`);
  }
}

const toStandardError = (message: string): void => void process.stderr.write(`${message}\n`);
