import type { CallOptions } from "./call.js";
import type { Client, Submitted } from "./client.js";
import type { Job, NewJob, SubmitOptions } from "./types.js";

/** A type of jobs, created by `Client.job`, to submit jobs and to attach handlers. */
export class JobType<Payload = unknown, Result = unknown> {
  constructor(
    /** The client that submits the jobs. */
    readonly client: Client,
    /** The name of the type. */
    readonly type: string,
    /** The defaults of its submissions. */
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

  /** Returns a job of this type, for `submitBatch` or `ctx.enqueue`. */
  make(payload: Payload, options: SubmitOptions = {}): NewJob<Payload> {
    return { ...this.defaults, ...options, type: this.type, payload };
  }

  /** Does the same as `Client.wait`, with the types of the payload and the result. */
  wait(id: string, options: CallOptions = {}): Promise<Job<Payload, Result>> {
    return this.client.wait(id, options);
  }
}
