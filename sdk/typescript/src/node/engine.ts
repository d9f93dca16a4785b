import {
  GOODBYE,
  LAST_FLUSH,
  LAST_SECOND,
  MOST_ITEMS,
  OUTCOME_DELAY,
  PAUSE_AFTER_REFUSAL,
  QUIET_POLL,
  REFUSED_FLUSH,
  SLOW_LINE_BYTES_PER_S,
  YOUNG_CLAIM,
} from "../constants.js";
import { fullJitter } from "../backoff.js";
import type { Client } from "../client.js";
import type { Surroundings } from "../context.js";
import {
  badAnswer,
  errorOf,
  isTemporary,
  messageOf,
  MillraceError,
  retryAfterOf,
} from "../errors.js";
import { outcomeOfRun, type Handlers } from "../handling.js";
import { refused, type Outcome, type OutcomeError } from "../outcome.js";
import { Attempt, ClaimAnswer, pollCodec } from "./attempt.js";
import { now } from "./clock.js";
import { Gate } from "./gate.js";
import type { Keeper } from "./keeper.js";
import { LeaseBook, type LeaseKeeping } from "./leases.js";
import { Outbox, type OutgoingAck } from "./outbox.js";
import { running } from "./running.js";
import type { Command, ItemResult, PollAnswer } from "../wire-shapes.js";
import { ackText, pollText, type PollItems } from "./wire-worker.js";

const CLAIM_MARGIN = 10_000; // for the round trip of a claim that waits
const REPORT_TIMEOUT = 10_000;

export interface EngineOptions {
  id: string;
  queues: string[];
  concurrency: number;
  lease: number | undefined;
  pollWait: number;
  grace: number;
  /** The worker's entry in the server's list, as JSON text. */
  info: string;
  notice(message: string): void;
  warn(message: string): void;
  format(values: unknown[]): string;
  keeper: Keeper | undefined;
  /** Whether signals stop the worker; their listeners call `signalled`. */
  watchesSignals: boolean;
}

/**
 * The worker's state machine. Three loops share it on one thread, so it needs no locks:
 *
 *   the claimer    claims for all free slots as soon as there is one, and lets the claim wait at
 *                  the server if it carries no outcomes
 *   the reporter   sends outcomes while a claim is under way or the claimer pauses
 *   the lease book extends leases, and sends lines and progress
 */
export class Engine implements Surroundings {
  readonly client: Client;
  readonly #options: EngineOptions;
  readonly #handlers: Handlers;
  readonly #types: string[];
  readonly #book: LeaseBook;
  readonly #outbox = new Outbox(OUTCOME_DELAY);
  readonly #claimGate = new Gate(); // a slot is free, or the worker stops
  readonly #reportGate = new Gate(); // outcomes are due, or the worker has ended
  readonly #endGate = new Gate(); // an attempt has ended, or an outcome was answered
  readonly #breakClaim = new AbortController();
  #asked = 0; // jobs requested by claims under way
  #behindNews = 0; // outcomes that wait for lines and progress
  #claimer: "ready" | "polling" | "away" = "away";
  #claimBegan = 0;
  #reportNotBefore = 0;
  #isAway = false; // the server did not answer last time
  #isQuiet = false;
  #isStopping = false;
  #isClosed = false;
  #graceTimer: NodeJS.Timeout | undefined;
  #isGraceOver = false;
  #fatal: unknown;

  constructor(client: Client, handlers: Handlers, options: EngineOptions) {
    this.client = client;
    this.#handlers = handlers;
    this.#types = handlers.types;
    this.#options = options;
    const keeping: LeaseKeeping = {
      poll: (items, timeout) => this.#poll(items, timeout).then(({ answer }) => answer),
      askLength: (attempt, timeout) => this.#askLength(attempt, timeout),
      becameSure: (attempt, isCancelled) => this.#becameSure(attempt, isCancelled),
      neverBegan: (attempt) => this.#over(attempt),
      warn: (message) => options.warn(message),
    };
    this.#book = new LeaseBook(keeping, options.keeper);
  }

  get isStopping(): boolean {
    return this.#isStopping || (this.#options.keeper?.signals ?? 0) > 0;
  }

  /** Begins the stop; a second signal ends the grace time. */
  signalled(): void {
    this.#options.keeper?.heardSignal();
    if (this.#isStopping) this.endGrace();
    else this.stop();
  }

  format(values: unknown[]): string {
    return this.#options.format(values);
  }

  wallClock(): number {
    return Date.now();
  }

  news(): void {
    this.#book.news();
  }

  /** Works until the stop. Rejects with a permanent refusal. */
  async run(): Promise<void> {
    // No handler begins before the keeper sees the signals that the handler may hold back.
    if (this.#options.watchesSignals) await this.#options.keeper?.watchSignals();
    const reporter = this.#report();
    await this.#claim();
    this.stop(); // for a claimer that ended by a refusal
    while (this.#book.size > 0) await this.#endGate.wait();
    clearTimeout(this.#graceTimer);
    await this.#flush();
    this.#isClosed = true;
    this.#book.close();
    this.#reportGate.open();
    await Promise.all([reporter, this.#options.keeper?.end()]);
    if (this.#fatal) throw this.#fatal;
    if (!this.#isAway) await this.#poll({ goodbye: true }, GOODBYE).catch(() => undefined);
  }

  /** Claims no more. Running handlers have the grace time. */
  stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#claimGate.open();
    if (this.#claimer === "polling") {
      const left = Math.max(this.#claimBegan + YOUNG_CLAIM - now(), 0);
      // An answer that has arrived meanwhile is read first.
      setTimeout(() => setImmediate(() => this.#breakClaim.abort()), left);
    }
    this.#graceTimer = setTimeout(() => this.endGrace(), this.#options.grace);
  }

  /** Tells running handlers to end now. Jobs that still run a second later are released. */
  endGrace(): void {
    if (this.#isGraceOver || !this.#isStopping) return;
    this.#isGraceOver = true;
    clearTimeout(this.#graceTimer);
    for (const attempt of this.#book.all) {
      if (attempt.isSure) this.#book.tell(attempt, "stopping");
      else this.#giveBack(attempt);
    }
    this.#graceTimer = setTimeout(() => {
      for (const attempt of this.#book.all) this.#giveBack(attempt);
    }, LAST_SECOND);
  }

  // The claimer.

  async #claim(): Promise<void> {
    let failures = 0;
    let early = 0;
    for (;;) {
      this.#claimer = "ready";
      if (this.#openSlots() === 0 && !this.#isStopping) await this.#claimGate.wait();
      // After a turn of the event loop, one claim covers all handlers that end immediately.
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#isStopping) break;
      const limit = this.#isQuiet ? 0 : Math.min(this.#openSlots(), MOST_ITEMS);
      if (limit === 0 && !this.#isQuiet) continue;
      const acks = this.#outbox.take();
      // Outcomes are answered only after the claim sent with them has waited, so it does not wait.
      const wait = acks.length ? 0 : this.#options.pollWait;
      this.#claimer = "polling";
      this.#claimBegan = now();
      this.#reportGate.openAt(this.#reportDue(), now());
      try {
        const brought = await this.#exchange(acks, limit, wait, this.#breakClaim.signal);
        failures = 0;
        // A server that is stopping does not let claims wait.
        const isEarly = brought === 0 && wait > 0 && now() - this.#claimBegan < wait / 2;
        early = isEarly ? early + 1 : 0;
        if (this.#isQuiet) await this.#pauseClaims(QUIET_POLL);
        else if (isEarly) await this.#pauseClaims(fullJitter(early));
      } catch (error) {
        if (this.#isStopping) break;
        if (acks.length === 0 && endsWork(error)) {
          this.#fatal = error;
          break;
        }
        await this.#pauseClaims(Math.max(fullJitter(failures++), retryAfterOf(error)));
      }
    }
    this.#claimer = "away";
    this.#reportGate.openAt(this.#reportDue(), now());
  }

  async #pauseClaims(ms: number): Promise<void> {
    this.#claimer = "away";
    this.#reportGate.openAt(this.#reportDue(), now());
    const until = now() + ms;
    while (!this.#isStopping && now() < until) {
      this.#claimGate.openAt(until, now());
      await this.#claimGate.wait();
    }
  }

  #openSlots(): number {
    return this.#options.concurrency - this.#book.size - this.#asked;
  }

  // The reporter.

  async #report(): Promise<void> {
    let failures = 0;
    for (;;) {
      await this.#reportGate.wait();
      if (this.#isClosed) return;
      if (this.#reportDue() <= now()) {
        const acks = this.#outbox.takeOrSuspect();
        try {
          await this.#exchange(acks, 0, 0);
          failures = 0;
        } catch (error) {
          const pause = Math.max(
            fullJitter(failures++),
            this.#isStopping ? 0 : retryAfterOf(error),
          );
          this.#reportNotBefore = now() + pause;
        }
      }
      this.#reportGate.openAt(this.#reportDue(), now());
    }
  }

  // Returns when the reporter must send outcomes, unless the claimer does so first.
  #reportDue(): number {
    const isLast = this.#claimer !== "ready" && this.#book.size === 0;
    return Math.max(this.#outbox.due(isLast), this.#reportNotBefore);
  }

  async #flush(): Promise<void> {
    const deadline = now() + (this.#fatal ? REFUSED_FLUSH : LAST_FLUSH);
    const isTold = (): boolean => this.#outbox.isEmpty && this.#behindNews === 0;
    while (!isTold() && now() < deadline && !(this.#fatal && this.#isAway)) {
      this.#endGate.openAt(deadline, now());
      await this.#endGate.wait();
    }
    if (isTold()) return;
    this.#options.warn(
      "the worker could not report all outcomes; the server runs those jobs again",
    );
  }

  // Round trips.

  /** Makes one poll with outcomes and a claim. Resolves to the number of jobs and commands. */
  async #exchange(
    acks: OutgoingAck[],
    limit: number,
    wait: number,
    signal?: AbortSignal,
  ): Promise<number> {
    const size = acks.reduce((sum, ack) => sum + ack.text.length, 0);
    const claim = limit > 0 ? this.#claimText(limit, wait) : undefined;
    const timeout =
      (limit > 0 ? wait + CLAIM_MARGIN : REPORT_TIMEOUT) + (size * 1_000) / SLOW_LINE_BYTES_PER_S;
    const sentAt = now();
    this.#asked += limit;
    let polled: { answer: PollAnswer; text: string };
    try {
      polled = await this.#poll({ acks: acks.map((ack) => ack.text), claim }, timeout, signal);
    } catch (error) {
      this.#unanswered(acks, error);
      throw error;
    } finally {
      this.#asked -= limit;
    }
    const { answer, text } = polled;
    this.#settle(acks, answer.acks);
    this.#obey(answer.commands);
    this.#admit(answer, text, sentAt);
    return answer.jobs.length + answer.commands.length;
  }

  async #poll(
    items: PollItems,
    timeout: number,
    signal?: AbortSignal,
  ): Promise<{ answer: PollAnswer; text: string }> {
    this.#book.lookIfLate();
    const { link } = this.client;
    const path = `/v1/workers/${encodeURIComponent(this.#options.id)}/poll`;
    const call = { method: "POST", path, body: pollText(items) };
    try {
      const { body, text, status } = await link.once(call, timeout, signal, pollCodec(link.codec));
      if (!Array.isArray((body as PollAnswer | null)?.jobs)) throw badAnswer(status, text);
      if (this.#isAway) this.#options.notice(`the worker reached ${this.client.url} again`);
      this.#isAway = false;
      return { answer: body as PollAnswer, text };
    } catch (error) {
      if (isTemporary(error)) {
        if (!this.#isAway) this.#options.warn(`${messageOf(error)}; the worker tries again`);
        this.#isAway = true;
      }
      throw error;
    } finally {
      this.#book.lookIfLate();
    }
  }

  async #askLength({ id, token }: Attempt, timeout: number): Promise<number | null> {
    const call = { method: "POST", path: `/v1/jobs/${id}/heartbeat`, body: `{"token":${token}}` };
    const { body } = await this.client.link.once(call, timeout);
    return (body as { timeout_ms: number | null }).timeout_ms;
  }

  #claimText(limit: number, wait: number): string {
    const { queues, lease, info } = this.#options;
    const claim = { queues, types: this.#types, limit, wait_ms: wait, lease_ms: lease };
    return `${JSON.stringify(claim).slice(0, -1)},"worker":${info}}`;
  }

  #obey(commands: Command[]): void {
    for (const { type, job_id: id, token } of commands) {
      if (type === "quiet") {
        this.#isQuiet = true;
      } else if (type === "stop") {
        if (!this.#isStopping) this.#options.notice("the server told the worker to stop");
        this.stop();
      } else if (type === "cancel" && id !== undefined && token !== undefined) {
        const attempt = this.#book.find(id, token);
        if (attempt?.isSure) this.#book.tell(attempt, "cancelled");
      }
    }
  }

  // Attempts.

  #admit({ jobs }: PollAnswer, text: string, sentAt: number): void {
    const answer = new ClaimAnswer(text);
    const codec = this.client.link.codec;
    jobs.forEach((claimed, index) => {
      const at = now();
      const attempt = new Attempt(claimed, { answer, index, codec, around: this }, sentAt, at);
      if (this.#isStopping) {
        this.#send(attempt, { outcome: "released" });
        return;
      }
      this.#book.add(attempt);
      if (attempt.isSure) void this.#handle(attempt);
    });
  }

  #becameSure(attempt: Attempt, isCancelled: boolean): void {
    if (isCancelled) this.#end(attempt, { outcome: "cancelled" });
    else void this.#handle(attempt);
  }

  async #handle(attempt: Attempt): Promise<void> {
    const { ctx } = attempt;
    const run = (): Promise<unknown> => running.run(ctx, () => this.#handlers.run(ctx));
    const outcome = await outcomeOfRun(ctx, run, this.client.link.codec);
    if (attempt.isOver) return;
    if (outcome.error && !attempt.isLost) this.#tellFailure(attempt, outcome.error, outcome.delay);
    this.#end(attempt, outcome);
  }

  // A failure with a delay is a RetryAfter: the handler meant it, and nobody need be warned.
  #tellFailure({ ctx: { job } }: Attempt, error: OutcomeError, delay: number | undefined): void {
    const isDead = error.retryable === false || job.attempt >= job.maxAttempts;
    const tell = isDead || delay === undefined ? this.#options.warn : this.#options.notice;
    tell(
      `job ${job.id} (${job.type}): attempt ${job.attempt} of ${job.maxAttempts} failed: ` +
        `${error.type}: ${error.message}; ` +
        (isDead ? "the job is dead" : "the server tries it again"),
    );
  }

  #giveBack(attempt: Attempt): void {
    this.#end(attempt, { outcome: "released" });
  }

  #end(attempt: Attempt, outcome: Outcome): void {
    this.#over(attempt);
    if (!attempt.isLost) this.#send(attempt, outcome);
  }

  #over(attempt: Attempt): void {
    attempt.isOver = true;
    this.#book.remove(attempt);
    this.#claimGate.open();
    this.#endGate.open();
  }

  // Outcomes.

  // The server accepts no lines or progress of a job that has ended. So those under way, and the
  // progress that was reported last, go first. The last lines go with the outcome.
  #send(attempt: Attempt, outcome: Outcome): void {
    if (attempt.newsUnderWay === 0 && !attempt.ctx.hasProgress) return this.#post(attempt, outcome);
    this.#behindNews++;
    void this.#book.tellProgress(attempt).then(() => {
      this.#behindNews--;
      this.#post(attempt, outcome);
    });
  }

  #post(attempt: Attempt, outcome: Outcome): void {
    const { ctx, id, token } = attempt;
    if (outcome.line) ctx.addLine("info", outcome.line);
    const { enqueued, growth, wishes } = ctx;
    const lines = ctx.takeLines(Infinity);
    const text = ackText(attempt, outcome, { lines, enqueued, growth, wishes });
    this.#add({ id, token, text });
  }

  #add(ack: OutgoingAck, at = now()): void {
    this.#outbox.add(ack, at);
    this.#reportGate.openAt(this.#reportDue(), now());
  }

  #settle(acks: OutgoingAck[], results: ItemResult[]): void {
    this.#outbox.settled(acks);
    acks.forEach((ack, i) => {
      const result = results[i];
      if (result && !result.error) return;
      const code = result?.error?.code;
      if (!result || result.status === 429 || result.status >= 500) {
        this.#add({ ...ack }, now() + PAUSE_AFTER_REFUSAL);
      } else if (code === "lease_lost" || result.status === 404) {
        this.#options.warn(`job ${ack.id}: the lease was lost before its outcome was reported`);
      } else {
        this.#refuse(ack, result.error ? errorOf(result.error).message : `status ${result.status}`);
      }
    });
    if (acks.length) this.#endGate.open();
  }

  // The request failed. If the server already has the outcomes, it repeats its first answer.
  #unanswered(acks: OutgoingAck[], error: unknown): void {
    this.#outbox.settled(acks);
    const isTheirs = error instanceof MillraceError && !isTemporary(error);
    for (const ack of acks) {
      if (isTheirs && ack.isSuspect && isAboutContent(error)) this.#refuse(ack, error.message);
      else this.#add({ ...ack, isSuspect: ack.isSuspect || isTheirs });
    }
    this.#endGate.open();
  }

  // Replaces an outcome that the server will never accept with a failure that says why.
  #refuse(ack: OutgoingAck, why: string): void {
    this.#options.warn(`job ${ack.id}: the server refused the outcome: ${why}`);
    if (ack.isSubstitute) return;
    const text = ackText(ack, refused(`the server refused the outcome: ${why}`));
    this.#add({ id: ack.id, token: ack.token, text, isSubstitute: true });
  }
}

// Returns whether the request's content may be why it was refused.
function isAboutContent(error: MillraceError): boolean {
  if (error.status === 413) return true;
  return (error.status === 400 || error.status === 422) && error.code !== "bad_answer";
}

// Returns whether no claim will ever succeed, as with a wrong token.
function endsWork(error: unknown): boolean {
  if (!(error instanceof MillraceError)) return true; // a bug
  if (error.status === 401 || error.status === 403) return true;
  const isRefused = error.status === 400 || error.status === 404 || error.status === 422;
  return isRefused && error.code !== "bad_answer";
}
