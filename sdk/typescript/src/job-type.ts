import type { CallOptions } from "./call.js";
import type { Client, Submitted } from "./client.js";
import type { Job, NewJob, SubmitOptions } from "./types.js";

/** A type of jobs, made by `Client.job`: what producers submit and handlers are attached to. */
export class JobType<Payload = unknown, Result = unknown> {
  constructor(
    /** Submits the jobs. */
    readonly client: Client,
    /** The name of the type. */
    readonly type: string,
    /** Members of each submission that does not name them. */
    readonly defaults: SubmitOptions,
  ) {}

  /** Submits a job of this type. */
  submit(
    payload: Payload,
    options: SubmitOptions = {},
    call: CallOptions = {},
  ): Promise<Submitted<Payload, Result>> {
    return this.client.submit(this.make(payload, options), call);
  }

  /** A job of this type, for `submitBatch` or `ctx.enqueue`. */
  make(payload: Payload, options: SubmitOptions = {}): NewJob<Payload> {
    return { ...this.defaults, ...options, type: this.type, payload };
  }

  /** As `Client.wait`, with the types of the payload and the result. */
  wait(id: string, options: CallOptions = {}): Promise<Job<Payload, Result>> {
    return this.client.wait(id, options);
  }
}
