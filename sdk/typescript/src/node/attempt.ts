import { Context, type RunningJob, type Surroundings } from "../context.js";
import type { JsonCodec } from "../json.js";
import { plainJson, readAnswer } from "../json.js";
import type { Row } from "./lease-table.js";
import type { ClaimedJob as Claimed } from "../wire-shapes.js";

/** An answer with jobs. Its text is read again only if the bytes of a payload are requested. */
export class ClaimAnswer {
  #payloads: string[] | undefined;

  constructor(readonly text: string) {}

  payloadText(index: number): string {
    if (!this.#payloads) {
      const { jobs } = readAnswer(this.text, (raw) => raw) as { jobs: { payload: string }[] };
      this.#payloads = jobs.map((job) => job.payload);
    }
    return this.#payloads[index] as string;
  }
}

/** Returns the codec for answers to polls, which parses the application's values on demand. */
export function pollCodec(codec: JsonCodec): JsonCodec {
  return codec === plainJson ? plainJson : { parse: (text) => text, stringify: codec.stringify };
}

class ClaimedJob implements RunningJob {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly meta: Record<string, string>;
  readonly tags: string[];
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly priority: number;
  readonly createdAt: string;
  readonly #claimed: Claimed;
  readonly #answer: ClaimAnswer;
  readonly #index: number;
  readonly #codec: JsonCodec;
  #payload: { value: unknown } | undefined;
  #parents: RunningJob["parents"] | undefined;

  constructor(claimed: Claimed, answer: ClaimAnswer, index: number, codec: JsonCodec) {
    this.id = claimed.id;
    this.queue = claimed.queue;
    this.type = claimed.type;
    this.attempt = claimed.attempt;
    this.maxAttempts = claimed.max_attempts;
    this.meta = claimed.meta;
    this.tags = claimed.tags ?? [];
    this.traceparent = claimed.traceparent ?? undefined;
    this.tracestate = claimed.tracestate ?? undefined;
    this.priority = claimed.priority ?? 0;
    this.createdAt = claimed.created_at ?? "";
    this.#claimed = claimed;
    this.#answer = answer;
    this.#index = index;
    this.#codec = codec;
  }

  get payload(): unknown {
    return (this.#payload ??= { value: this.#parsed(this.#claimed.payload) }).value;
  }

  get payloadText(): string {
    return this.#answer.payloadText(this.#index);
  }

  get schedule(): RunningJob["schedule"] {
    const schedule = this.#claimed.schedule;
    return schedule && { name: schedule.name, scheduledAt: schedule.scheduled_at };
  }

  get workflow(): RunningJob["workflow"] {
    return this.#claimed.workflow;
  }

  get parents(): RunningJob["parents"] {
    return (this.#parents ??= Object.fromEntries(
      Object.entries(this.#claimed.parents ?? {}).map(([ref, parent]) => {
        const has = parent.result !== undefined;
        return [ref, has ? { ...parent, result: this.#parsed(parent.result) } : parent];
      }),
    ));
  }

  get checkpoint(): unknown {
    const checkpoint = this.#claimed.progress?.checkpoint;
    return checkpoint === undefined || checkpoint === null ? undefined : this.#parsed(checkpoint);
  }

  #parsed(value: unknown): unknown {
    return this.#codec === plainJson ? value : this.#codec.parse(value as string);
  }
}

const LONGEST_WAY = 1_000; // the longest way of an answer, in milliseconds, to order two events

/** One attempt that this worker holds. Times are of the monotonic clock, in milliseconds. */
export class Attempt {
  readonly id: string;
  readonly token: number;
  readonly ctx: Context;
  /** The length of the lease. */
  readonly lease: number;
  /** Until when the lease is certain, regardless of delays of the network. */
  certainUntil: number;
  beatDue: number;
  beatFailures = 0;
  /** When the answer with the job arrived. */
  readonly begunAt: number;
  /** The earliest time at which the server may have begun to count the attempt's time. */
  readonly earliestBegin: number;
  /** The claim did not tell the attempt's timeout, so a separate heartbeat must ask. */
  needsLength: boolean;
  /** When the attempt times out. */
  timeoutAt: number;
  /** False if the claim waited long, so that a heartbeat must first make the lease certain. */
  isSure: boolean;
  /** Until when heartbeats are tried for a job that is not sure. */
  readonly hopeUntil: number;
  /** The server will not accept the handler's outcome. */
  isLost = false;
  /** The handler has ended, or is no longer waited for. */
  isOver = false;
  /** Its place in the keeper's table. */
  row: Row | undefined;
  /** Requests under way that carry lines or progress of this attempt. */
  newsUnderWay = 0;
  /** Called when these requests have ended. */
  afterNews: (() => void) | undefined;

  constructor(
    claimed: Claimed,
    ctx: { answer: ClaimAnswer; index: number; codec: JsonCodec; around: Surroundings },
    sentAt: number,
    now: number,
  ) {
    this.id = claimed.id;
    this.token = claimed.lease.token;
    const job = new ClaimedJob(claimed, ctx.answer, ctx.index, ctx.codec);
    this.ctx = new Context(job, this.token, ctx.around);
    this.lease = claimed.lease.lease_ms;
    this.certainUntil = sentAt + this.lease;
    this.isSure = now - sentAt <= this.lease / 3;
    this.beatDue = this.isSure ? sentAt + this.lease / 3 : now;
    this.hopeUntil = now + this.lease;
    this.begunAt = now;
    this.earliestBegin = Math.max(sentAt, now - LONGEST_WAY);
    const length = claimed.deadline ? lengthOf(claimed, claimed.deadline) : Infinity;
    this.needsLength = length === undefined;
    this.timeoutAt = length === undefined ? Infinity : now + length;
  }

  /** Returns whether the server, which began to count a little earlier, may have timed it out. */
  mayHaveTimedOut(now: number): boolean {
    return now >= this.timeoutAt - (this.begunAt - this.earliestBegin);
  }
}

// Returns the attempt's timeout, by the server's clock alone. If the lease ends with the attempt's
// deadline, the lease's end does not tell when it began.
function lengthOf(claimed: Claimed, deadline: string): number | undefined {
  if (claimed.timeout_ms) return claimed.timeout_ms;
  const { expires_at: end, lease_ms: lease } = claimed.lease;
  if (Date.parse(end) >= Date.parse(deadline)) return undefined;
  return Date.parse(deadline) - (Date.parse(end) - lease);
}
