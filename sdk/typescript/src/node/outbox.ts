import { MANY_OUTCOMES, MOST_ITEMS, MOST_OUTCOME_BYTES } from "../constants.js";

/** The outcomes of attempts that the server has not answered yet. */

export interface OutgoingAck {
  id: string;
  token: number;
  /** The item of a poll, as JSON text. */
  text: string;
  /** It replaces an outcome that the server refused. */
  isSubstitute?: boolean;
  /** It may be why its request was refused, so it is sent alone. */
  isSuspect?: boolean;
}

export class Outbox {
  #waiting: OutgoingAck[] = [];
  #suspects: OutgoingAck[] = [];
  #oldest = Infinity;
  #inFlight = 0;

  /** `delay` is the longest time that an outcome waits for others, in milliseconds. */
  constructor(readonly delay: number) {}

  /** Whether nothing waits and nothing is under way. */
  get isEmpty(): boolean {
    return this.#waiting.length + this.#suspects.length + this.#inFlight === 0;
  }

  add(ack: OutgoingAck, now: number): void {
    (ack.isSuspect ? this.#suspects : this.#waiting).push(ack);
    this.#oldest = Math.min(this.#oldest, now);
  }

  /** Returns when to send the outcomes; `isLast` says that no other is expected. */
  due(isLast: boolean): number {
    if (this.#waiting.length + this.#suspects.length === 0) return Infinity;
    return isLast || this.#waiting.length >= MANY_OUTCOMES
      ? this.#oldest
      : this.#oldest + this.delay;
  }

  /** Takes as many outcomes as fit into one request. Call `settled` for them later. */
  take(): OutgoingAck[] {
    let size = 0; // in characters, fewer than the bytes
    let count = 0;
    for (const ack of this.#waiting) {
      size += ack.text.length;
      if (count === MOST_ITEMS || (count > 0 && size > MOST_OUTCOME_BYTES)) break;
      count++;
    }
    return this.#taken(this.#waiting.splice(0, count));
  }

  /** Does the same as `take`, but may also take one that must be sent alone. */
  takeOrSuspect(): OutgoingAck[] {
    return this.#suspects.length ? this.#taken(this.#suspects.splice(0, 1)) : this.take();
  }

  /** Called when these were answered, or before they are put back with `add`. */
  settled(acks: OutgoingAck[]): void {
    this.#inFlight -= acks.length;
  }

  #taken(acks: OutgoingAck[]): OutgoingAck[] {
    this.#inFlight += acks.length;
    if (this.#waiting.length + this.#suspects.length === 0) this.#oldest = Infinity;
    return acks;
  }
}
