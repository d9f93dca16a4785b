import { randomFillSync } from "node:crypto";

import { Client, type ClientOptions } from "../client.js";
import { fetchTransport } from "../transport.js";
import { httpTransport, type HttpOptions } from "./http.js";
import { running } from "./running.js";
import { Worker, type WorkerOptions } from "./worker.js";

/** The options of a client in Node.js. */
export interface MillraceOptions extends ClientOptions, HttpOptions {}

/** A client that also makes workers. See `Client` for its calls. */
export class Millrace extends Client {
  readonly #connection: HttpOptions | undefined;

  constructor(options: MillraceOptions = {}) {
    super(options, {
      transport: options.fetch ? fetchTransport(options.fetch) : httpTransport(options),
      setting: (name) => process.env[name] || undefined,
      random: (bytes) => randomFillSync(bytes),
      handlerTrace: () => {
        const job = running.getStore()?.job;
        if (job?.traceparent === undefined) return undefined;
        return { traceparent: job.traceparent, tracestate: job.tracestate };
      },
    });
    this.#connection = options.fetch ? undefined : options;
  }

  /** Returns a worker, which will run the handlers attached to it. */
  worker(options: WorkerOptions = {}): Worker {
    return new Worker(this, options, this.#connection);
  }
}
