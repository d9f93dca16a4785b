import type { CallOptions } from "./call.js";
import type { Client, Submitted } from "./client.js";
import { checkPayload, parsedBy, type StandardSchema } from "./schema.js";
import type { SqlConnection } from "./sql.js";
import type { Job, NewJob, SubmitOptions } from "./types.js";

/** The schemas of a job type. Values are checked before they are sent and when they arrive. */
export interface Schemas<Payload, Result, GivenPayload = Payload, GivenResult = Result> {
  payload?: StandardSchema<GivenPayload, Payload> | undefined;
  result?: StandardSchema<GivenResult, Result> | undefined;
}

/**
 * A type of jobs, created by `Client.job`, to submit jobs and to attach handlers. A handler gets a
 * `Payload` and returns a `GivenResult`; a producer submits a `GivenPayload` and gets a `Result`.
 * They differ only where a schema changes values.
 */
export class JobType<
  Payload = unknown,
  Result = unknown,
  GivenPayload = Payload,
  GivenResult = Result,
> {
  /** The client that submits the jobs. */
  readonly client: Client;
  /** The name of the type. */
  readonly type: string;
  /** The defaults of its submissions. */
  readonly defaults: SubmitOptions;
  /** Its schemas, if it has any. */
  readonly schemas: Schemas<Payload, Result, GivenPayload, GivenResult>;

  /** @internal Use `Client.job`. */
  constructor(
    client: Client,
    type: string,
    {
      payload,
      result,
      ...defaults
    }: SubmitOptions & Schemas<Payload, Result, GivenPayload, GivenResult>,
  ) {
    this.client = client;
    this.type = type;
    this.defaults = defaults;
    this.schemas = { payload, result };
  }

  /** Submits a job of this type. Rejects with a `PayloadError` if the payload does not fit. */
  async submit(
    payload: GivenPayload,
    options: SubmitOptions = {},
    call: CallOptions = {},
  ): Promise<Submitted<Payload, Result>> {
    await parsedBy(this.schemas.payload, payload, "payload");
    const submitted: Submitted<any, Result> = await this.client.submit(
      this.#made(payload, options),
      call,
    );
    return submitted;
  }

  /**
   * Submits a job of this type in the connection's transaction, and resolves to its id: see
   * `Client.submitTx`.
   */
  async submitTx(
    connection: SqlConnection,
    payload: GivenPayload,
    options: SubmitOptions = {},
  ): Promise<string> {
    await parsedBy(this.schemas.payload, payload, "payload");
    return this.client.submitTx(connection, this.#made(payload, options));
  }

  /**
   * Returns a job of this type, for `submitBatch` or `ctx.enqueue`. Throws a `PayloadError` if the
   * payload does not fit.
   */
  make(payload: GivenPayload, options: SubmitOptions = {}): NewJob<GivenPayload> {
    checkPayload(this.schemas.payload, payload);
    return this.#made(payload, options);
  }

  #made(payload: GivenPayload, options: SubmitOptions): NewJob<GivenPayload> {
    return { ...this.defaults, ...options, type: this.type, payload };
  }

  /**
   * Does the same as `Client.wait`, with the types of the payload and the result. Rejects with a
   * `ResultError` if the job succeeded and the result does not fit.
   */
  async wait(id: string, options: CallOptions = {}): Promise<Job<Payload, Result>> {
    const job = await this.client.wait<Payload, Result>(id, options);
    if (job.state === "succeeded" && this.schemas.result) {
      job.result = (await parsedBy(this.schemas.result, job.result, "result")) as Result;
    }
    return job;
  }
}
