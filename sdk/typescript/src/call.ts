import { fullJitter, pause } from "./backoff.js";
import {
  badAnswer,
  errorOf,
  isProblem,
  isTemporary,
  NotFound,
  retryAfterOf,
  Unreachable,
} from "./errors.js";
import type { MillraceError } from "./errors.js";
import type { JsonCodec } from "./json.js";
import { parseAnswer } from "./wire.js";
import type { Transport } from "./transport.js";

/** Whether a call may be sent again if it is unknown whether the server has done it. */
export type Repeat = "always" | "unless_begun";

export interface Call {
  method: string;
  /** The path below the server's address, with its query. */
  path: string;
  body?: string | undefined;
  headers?: Record<string, string> | undefined;
  repeat?: Repeat | undefined;
  /** The bound on one try, in milliseconds. Default: the time until the deadline. */
  tryTimeout?: number | undefined;
  /** Called before each try. */
  onTry?: (() => void) | undefined;
}

/** The bounds of one call. */
export interface CallOptions {
  /** Bounds the whole call, including tries and pauses, in milliseconds. Default: the client's. */
  timeout?: number | undefined;
  /** Aborts the call, which rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A parsed answer with a status below 300. The names in `body` are the API's. */
export interface Answer {
  status: number;
  body: unknown;
  text: string;
}

/** What a link needs besides its transport. */
export interface LinkOptions {
  url: string;
  token?: string | undefined;
  codec: JsonCodec;
  /** How long a submission to a full queue is tried, in milliseconds. */
  queueFullTimeout?: number;
}

/** The address, the token and the transport of a server. */
export class Link {
  readonly url: string;
  readonly codec: JsonCodec;
  readonly #token: string | undefined; // private, so that nothing that prints a client shows it
  readonly #queueFullTimeout: number;

  constructor(
    { url, token, codec, queueFullTimeout = Infinity }: LinkOptions,
    public transport: Transport,
  ) {
    this.url = url;
    this.codec = codec;
    this.#token = checkedToken(token);
    this.#queueFullTimeout = queueFullTimeout;
  }

  get token(): string | undefined {
    return this.#token;
  }

  /** Makes one try. `codec` reads the opaque members of the answer. */
  async once(
    call: Call,
    timeout: number,
    signal?: AbortSignal,
    codec = this.codec,
  ): Promise<Answer> {
    const headers: Record<string, string> = { accept: "application/json", ...call.headers };
    if (call.body !== undefined) headers["content-type"] = "application/json";
    if (this.token !== undefined) headers["authorization"] = `Bearer ${this.token}`;
    const { status, header, text } = await this.transport({
      method: call.method,
      url: this.url + call.path,
      headers,
      body: call.body,
      timeout,
      signal,
    });
    const body = parsed(text, codec);
    if (status >= 200 && status < 300) {
      if (body === undefined && status !== 204) throw badAnswer(status, text);
      return { status, body, text };
    }
    const retryAfter = millisecondsOf(header("retry-after"));
    if (isProblem(body)) throw errorOf(body, status, retryAfter);
    throw badAnswer(status, text, retryAfter);
  }

  /** Retries until the deadline; `timeout` is in milliseconds. */
  async call(call: Call, timeout: number, signal?: AbortSignal): Promise<Answer> {
    const begin = performance.now();
    let deadline = begin + timeout;
    let answered: unknown; // the last refusal
    for (let tries = 0; ; tries++) {
      call.onTry?.();
      try {
        const left = Math.max(deadline - performance.now(), 1);
        return await this.once(call, Math.min(left, call.tryTimeout ?? left), signal);
      } catch (error) {
        // An earlier try deleted it, and its answer was lost.
        if (call.method === "DELETE" && tries > 0 && error instanceof NotFound) {
          return { status: 204, body: undefined, text: "" };
        }
        // The last try had little time, so the server's previous refusal is more informative.
        const isCutShort = error instanceof Unreachable && performance.now() >= deadline;
        if (isCutShort && answered) throw answered;
        if (!mayRepeat(call, error)) throw error;
        if (FULL.has((error as MillraceError).code)) {
          deadline = Math.min(deadline, begin + this.#queueFullTimeout);
        }
        if (!(error instanceof Unreachable)) answered = error;
        const wait = Math.max(fullJitter(tries), retryAfterOf(error));
        if (performance.now() + wait >= deadline) throw error;
        await pause(wait, signal);
      }
    }
  }
}

const FULL = new Set(["queue_full", "key_full"]);

// Returns the token without blanks around it, as files and secrets have them. The error does not
// show it.
function checkedToken(given: string | undefined): string | undefined {
  const token = given?.trim();
  const at = token?.search(/[^!-~]/) ?? -1;
  if (at >= 0) {
    throw new TypeError(`character ${at + 1} of the token is none that a token has`);
  }
  return token || undefined;
}

function parsed(text: string, codec: JsonCodec): unknown {
  if (text === "") return undefined;
  try {
    return parseAnswer(text, codec);
  } catch {
    return undefined;
  }
}

function mayRepeat(call: Call, error: unknown): boolean {
  if (!isTemporary(error) || (error instanceof Unreachable && error.isUntrusted)) return false;
  if (call.repeat !== "unless_begun") return true;
  if (error instanceof Unreachable) return !error.mayHaveBegun;
  const { status } = error as MillraceError;
  return status === 429 || status === 503;
}

// `Retry-After` in seconds, or as a date.
function millisecondsOf(retryAfter: string | null | undefined): number | undefined {
  if (!retryAfter) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1_000;
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? undefined : Math.max(at - Date.now(), 0);
}
