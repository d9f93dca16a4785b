import type { Context } from "./context.js";
import { messageOf } from "./errors.js";
import { JobType } from "./job-type.js";
import { opaqueText, type JsonCodec } from "./json.js";
import { parsedBy } from "./schema.js";
import { Ending, outcomeOf, refused, timedOut, type Outcome } from "./outcome.js";

/**
 * Does the work of one attempt. Its return value is the job's result; an exception fails the
 * attempt. It may also return or throw `snooze()`, `retryAfter()`, `cancel()` or a `NonRetryable`.
 */
export type Handler<Payload = unknown, Result = unknown> = (
  payload: Payload,
  ctx: Context<Payload>,
) => Result | Ending | Promise<Result | Ending>;

/**
 * Wraps every handler. `next()` runs the next middleware or finally the handler, and returns its
 * result or throws its exception. The middleware's own result or exception counts.
 */
export type Middleware = (ctx: Context, next: () => Promise<unknown>) => unknown;

/** The handlers of an application by type, and their middleware. */
export class Handlers {
  readonly #handlers = new Map<string, Handler>();
  readonly #middleware: Middleware[] = [];

  get types(): string[] {
    return [...this.#handlers.keys()];
  }

  set<Payload, GivenResult>(
    job: JobType<Payload, any, any, GivenResult> | string,
    handler: Handler<Payload, GivenResult>,
  ): void {
    const type = job instanceof JobType ? job.type : job;
    if (this.#handlers.has(type)) throw new Error(`there is a handler for ${type} already`);
    const plain = handler as Handler;
    this.#handlers.set(type, job instanceof JobType ? checking(plain, job.schemas) : plain);
  }

  wrap(middleware: Middleware): void {
    this.#middleware.push(middleware);
  }

  has(type: string): boolean {
    return this.#handlers.has(type);
  }

  /** Runs the handler of the context's job. */
  async run(ctx: Context): Promise<unknown> {
    const handler = this.#handlers.get(ctx.job.type);
    if (!handler) throw new Error(`there is no handler for ${ctx.job.type}`);
    const middleware = this.#middleware;
    const from = async (n: number): Promise<unknown> => {
      const wrapper = middleware[n];
      return wrapper ? wrapper(ctx, () => from(n + 1)) : handler(ctx.job.payload, ctx);
    };
    return from(0);
  }
}

// Returns the handler of a job type with schemas, which are asked before and after it.
function checking(handler: Handler, { payload, result }: JobType["schemas"]): Handler {
  if (!payload && !result) return handler;
  return async (given, ctx) => {
    const value = await parsedBy(payload, given, "payload");
    Object.defineProperty(ctx.job, "payload", { value });
    const returned = await handler(value, ctx);
    if (!(returned instanceof Ending)) await parsedBy(result, returned, "result");
    return returned;
  };
}

/**
 * Runs an attempt and returns its outcome. It never rejects: values and errors of an application
 * may throw when they are looked at. Reading `ctx.stopReason` first tells a handler that blocked the
 * thread the signals that it missed.
 */
export async function outcomeOfRun(
  ctx: Context,
  run: () => Promise<unknown>,
  codec: JsonCodec,
): Promise<Outcome> {
  try {
    const value = await run();
    if (ctx.stopReason === "timeout") return timedOut();
    if (value instanceof Ending) return outcomeOf(value, ctx.stopReason);
    return value === undefined ? { outcome: "succeeded" } : succeededWith(value, codec);
  } catch (thrown) {
    return outcomeOf(thrown, ctx.stopReason);
  }
}

function succeededWith(value: unknown, codec: JsonCodec): Outcome {
  try {
    return { outcome: "succeeded", result: opaqueText(value, codec) };
  } catch (fault) {
    return refused(`the result is not JSON: ${messageOf(fault)}`);
  }
}
