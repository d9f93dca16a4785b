import { LEAST_PATIENCE, MOST_ITEMS } from "../constants.js";
import { fullJitter, pause } from "../backoff.js";
import type { PendingLine, PendingProgress } from "../context.js";
import { isTemporary, messageOf, retryAfterOf, Unreachable } from "../errors.js";
import type { StopReason } from "../outcome.js";
import type { Attempt } from "./attempt.js";
import { now } from "./clock.js";
import type { Keeper } from "./keeper.js";
import { CANCELLED, LOST } from "./lease-table.js";
import type { HeartbeatResult, PollAnswer } from "../wire-shapes.js";
import { beatText, type PollItems } from "./wire-worker.js";

const NEWS_DELAY = 400; // progress and lines may be a second late, including the network's delay
const ASK_DELAY = 20; // an attempt that ends immediately does not need its timeout
const MOST_TIMEOUT = 30_000;

/** The services that the lease book needs from the worker. */
export interface LeaseKeeping {
  /** Extends one lease. Resolves to the job's timeout in milliseconds, if it has one. */
  askLength(attempt: Attempt, timeout: number): Promise<number | null>;
  poll(items: PollItems, timeout: number): Promise<PollAnswer>;
  /** Called when the lease of a job that was not sure has become certain. */
  becameSure(attempt: Attempt, isCancelled: boolean): void;
  /** Called when the worker has lost a job before its handler began. */
  neverBegan(attempt: Attempt): void;
  warn(message: string): void;
}

/**
 * The leases that the worker holds. The book extends them, tells handlers whose lease or time is
 * over, and sends their lines and progress. One timer serves all attempts.
 */
export class LeaseBook {
  readonly #worker: LeaseKeeping;
  readonly #keeper: Keeper | undefined;
  readonly #attempts = new Map<string, Attempt>();
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  #newsDue = Infinity;

  constructor(worker: LeaseKeeping, keeper: Keeper | undefined) {
    this.#worker = worker;
    this.#keeper = keeper;
  }

  get size(): number {
    return this.#attempts.size;
  }

  get all(): Attempt[] {
    return [...this.#attempts.values()];
  }

  find(id: string, token: number): Attempt | undefined {
    return this.#attempts.get(keyOf(id, token));
  }

  add(attempt: Attempt): void {
    this.#attempts.set(keyOf(attempt.id, attempt.token), attempt);
    attempt.row = this.#keeper?.enter(attempt.id, attempt.token, attempt.lease);
    attempt.ctx.look = () => this.look(attempt);
    this.#plan(attempt);
    this.#wakeAt(Math.min(attempt.beatDue, attempt.timeoutAt));
    if (attempt.needsLength) this.#wakeAt(attempt.begunAt + ASK_DELAY);
  }

  remove(attempt: Attempt): void {
    this.#attempts.delete(keyOf(attempt.id, attempt.token));
    attempt.ctx.look = undefined;
    if (attempt.row) this.#keeper?.leave(attempt.row);
    attempt.row = undefined;
  }

  /** Called when a handler has written a line or reported progress. */
  news(): void {
    if (this.#newsDue !== Infinity) return;
    this.#newsDue = now() + NEWS_DELAY;
    this.#wakeAt(this.#newsDue);
  }

  tell(attempt: Attempt, reason: StopReason): void {
    if (reason === "lease_lost") attempt.isLost = true;
    attempt.ctx.tell(reason);
  }

  /** Tells the handler if its lease or its time is over. */
  look(attempt: Attempt, at = now()): void {
    if (!attempt.isSure) return;
    const kept = attempt.row && this.#keeper?.answer(attempt.row);
    if (kept) attempt.certainUntil = Math.max(attempt.certainUntil, kept.certainUntil);
    if (kept?.told === LOST) this.tell(attempt, "lease_lost");
    if (kept?.told === CANCELLED) this.tell(attempt, "cancelled");
    if ((this.#keeper?.signals ?? 0) > 1) this.tell(attempt, "stopping");
    if (at >= attempt.certainUntil && !attempt.isLost) this.tell(attempt, "lease_lost");
    if (at >= attempt.timeoutAt) this.tell(attempt, "timeout");
  }

  /** Calls `look` for all attempts if the timer is late, as after a pause of the process. */
  lookIfLate(): void {
    const at = now();
    if (at < this.#wakesAt) return;
    for (const attempt of this.#attempts.values()) this.look(attempt, at);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#wakesAt = -Infinity;
  }

  #wakeAt(due: number): void {
    if (due >= this.#wakesAt) return;
    clearTimeout(this.#timer);
    this.#wakesAt = due;
    this.#timer = setTimeout(() => this.#wake(), Math.min(Math.max(due - now(), 0), 2 ** 31 - 1));
  }

  #wake(): void {
    this.#wakesAt = Infinity;
    const at = now();
    const hasNews = at >= this.#newsDue;
    if (hasNews) this.#newsDue = Infinity;
    const beats: Attempt[] = [];
    for (const attempt of this.#attempts.values()) {
      this.look(attempt, at);
      if (attempt.isLost) continue;
      if (attempt.needsLength && at >= attempt.begunAt + ASK_DELAY) void this.#learnLength(attempt);
      if (!attempt.isSure && at >= attempt.hopeUntil) {
        this.#drop(attempt);
      } else if (attempt.beatDue <= at || (hasNews && attempt.ctx.hasProgress)) {
        beats.push(attempt);
      }
    }
    this.#send(beats, hasNews);
    let next = this.#newsDue;
    for (const attempt of this.#attempts.values()) next = Math.min(next, dueOf(attempt, at));
    this.#wakeAt(next);
  }

  // Sends at most 1,000 heartbeats and lines per request.
  #send(beats: Attempt[], hasNews: boolean): void {
    const lines: LinesOf[] = [];
    if (hasNews) {
      for (const attempt of this.#attempts.values()) {
        while (!attempt.isLost && attempt.ctx.hasLines) {
          lines.push({ attempt, lines: attempt.ctx.takeLines(MOST_ITEMS) });
        }
      }
    }
    for (let i = 0; i < beats.length; i += MOST_ITEMS) {
      void this.#beat(beats.slice(i, i + MOST_ITEMS));
    }
    for (let i = 0; i < lines.length;) {
      const some: LinesOf[] = [];
      let count = 0;
      for (; i < lines.length; i++) {
        count += (lines[i] as LinesOf).lines.length;
        if (some.length && count > MOST_ITEMS) break;
        some.push(lines[i] as LinesOf);
      }
      void this.#tellLines(some);
    }
  }

  async #beat(attempts: Attempt[], isPlain = false): Promise<void> {
    const sentAt = now();
    const progress = attempts.map((attempt) => (isPlain ? undefined : attempt.ctx.takeProgress()));
    for (const attempt of attempts) {
      attempt.beatDue = sentAt + attempt.lease / 3;
      this.#plan(attempt);
    }
    const heartbeats = attempts.map(({ id, token }, i) => beatText(id, token, progress[i]));
    const bearers = attempts.filter((_, i) => progress[i]);
    newsGo(bearers);
    try {
      const answer = await this.#worker.poll({ heartbeats }, timeoutOf(attempts, sentAt));
      attempts.forEach((attempt, i) => {
        const result = answer.heartbeats[i];
        if (result) this.#take(attempt, result, sentAt, progress[i]);
      });
    } catch (error) {
      if (!isTemporary(error))
        this.#worker.warn(`the server refused heartbeats: ${messageOf(error)}`);
      attempts.forEach((attempt, i) => this.#beatAgain(attempt, error, progress[i]));
    } finally {
      newsCame(bearers);
    }
  }

  #take(
    attempt: Attempt,
    result: HeartbeatResult,
    sentAt: number,
    progress: PendingProgress | undefined,
  ): void {
    if (attempt.isOver) return;
    if (result.error && (result.error.code === "lease_lost" || result.status === 404)) {
      this.#refused(attempt);
    } else if (result.error) {
      this.#worker.warn(
        `job ${attempt.id}: the server refused a heartbeat: ${result.error.detail}`,
      );
      if (progress) void this.#beat([attempt], true);
      else this.#beatAgain(attempt, result.error, undefined);
    } else {
      attempt.beatFailures = 0;
      attempt.certainUntil = Math.max(attempt.certainUntil, sentAt + attempt.lease);
      this.#plan(attempt);
      if (!attempt.isSure) {
        attempt.isSure = true;
        this.#worker.becameSure(attempt, result.cancel_requested === true);
      } else if (result.cancel_requested) {
        this.tell(attempt, "cancelled");
      }
    }
  }

  #refused(attempt: Attempt): void {
    if (!attempt.isSure) return this.#drop(attempt);
    attempt.isLost = true;
    this.tell(attempt, attempt.mayHaveTimedOut(now()) ? "timeout" : "lease_lost");
  }

  #beatAgain(attempt: Attempt, error: unknown, progress: PendingProgress | undefined): void {
    if (progress && isTemporary(error)) attempt.ctx.returnProgress(progress);
    const pause = Math.max(fullJitter(attempt.beatFailures++), retryAfterOf(error));
    attempt.beatDue = Math.min(attempt.beatDue, now() + Math.min(pause, attempt.lease / 6));
    if (this.#attempts.has(keyOf(attempt.id, attempt.token))) this.#wakeAt(attempt.beatDue);
  }

  async #learnLength(attempt: Attempt): Promise<void> {
    attempt.needsLength = false;
    const sentAt = now();
    try {
      const length = await this.#worker.askLength(attempt, timeoutOf([attempt], sentAt));
      if (attempt.isOver) return;
      attempt.certainUntil = Math.max(attempt.certainUntil, sentAt + attempt.lease);
      if (length === null) return;
      attempt.timeoutAt = attempt.begunAt + length;
      this.#wakeAt(attempt.timeoutAt);
    } catch {
      // A heartbeat will report the problem, and the server times the attempt out in any case.
    }
  }

  async #tellLines(parts: LinesOf[]): Promise<void> {
    const logs = parts.flatMap(({ attempt: { id, token }, lines }) =>
      lines.map((line) => JSON.stringify({ id, token, ...line })),
    );
    const attempts = parts.map((part) => part.attempt);
    newsGo(attempts);
    try {
      await this.#worker.poll({ logs }, timeoutOf(attempts, now()));
    } catch (error) {
      // Lines that may have arrived are not sent again: a duplicate is worse than a missing line.
      const isUntold = isTemporary(error) && !(error instanceof Unreachable && error.mayHaveBegun);
      if (isUntold) for (const { attempt, lines } of parts) attempt.ctx.returnLines(lines);
      if (isUntold) this.news();
    }
    newsCame(attempts);
  }

  #plan({ row, beatDue, certainUntil, lease }: Attempt): void {
    if (row) this.#keeper?.plan(row, beatDue, certainUntil, lease);
  }

  /** Sends the last progress of an ended attempt, as long as that is useful. */
  async tellProgress(attempt: Attempt): Promise<void> {
    if (attempt.newsUnderWay > 0) await new Promise<void>((done) => (attempt.afterNews = done));
    for (let tries = 0; attempt.ctx.hasProgress && now() < attempt.certainUntil; tries++) {
      const progress = attempt.ctx.takeProgress();
      const heartbeats = [beatText(attempt.id, attempt.token, progress)];
      try {
        await this.#worker.poll({ heartbeats }, timeoutOf([attempt], now()));
      } catch (error) {
        if (!progress || !isTemporary(error)) return;
        attempt.ctx.returnProgress(progress);
        await pause(fullJitter(tries));
      }
    }
  }

  #drop(attempt: Attempt): void {
    attempt.isLost = true;
    this.#worker.neverBegan(attempt);
  }
}

interface LinesOf {
  attempt: Attempt;
  lines: PendingLine[];
}

function newsGo(attempts: Attempt[]): void {
  for (const attempt of attempts) attempt.newsUnderWay++;
}

function newsCame(attempts: Attempt[]): void {
  for (const attempt of attempts) if (--attempt.newsUnderWay === 0) attempt.afterNews?.();
}

const keyOf = (id: string, token: number): string => id + token;

function dueOf(attempt: Attempt, at: number): number {
  if (attempt.isLost) return Infinity;
  const end = attempt.isSure ? attempt.certainUntil : attempt.hopeUntil;
  const timeout = attempt.timeoutAt > at ? attempt.timeoutAt : Infinity;
  const ask = attempt.needsLength ? attempt.begunAt + ASK_DELAY : Infinity;
  return Math.min(attempt.beatDue, end, timeout, ask);
}

// A heartbeat is useful only as long as the lease is certain.
function timeoutOf(attempts: Attempt[], at: number): number {
  const left = attempts.map((attempt) =>
    attempt.isSure ? attempt.certainUntil - at : attempt.lease / 2,
  );
  return Math.min(Math.max(Math.min(...left), LEAST_PATIENCE), MOST_TIMEOUT);
}
