/** The outcomes of attempts that nobody has answered yet. */

export interface OutgoingAck {
  id: string;
  token: number;
  /** The item of a poll, as JSON text. */
  text: string;
  /** It stands for one that the server refused. */
  isSubstitute?: boolean;
  /** The request that carried it was refused, perhaps because of it: it goes alone. */
  isSuspect?: boolean;
}

const MOST_ITEMS = 1_000; // the server's bound on a request
const MOST_CHARACTERS = 4 << 20; // a quarter of the server's bound on a body, for text beyond ASCII
const MANY = 64; // so many do not wait for others

export class Outbox {
  #waiting: OutgoingAck[] = [];
  #suspects: OutgoingAck[] = [];
  #oldest = Infinity;
  #inFlight = 0;

  /** How long an outcome waits for others at most, in milliseconds. */
  constructor(readonly delay: number) {}

  /** Nothing waits, and nothing is under way. */
  get isEmpty(): boolean {
    return this.#waiting.length + this.#suspects.length + this.#inFlight === 0;
  }

  add(ack: OutgoingAck, now: number): void {
    (ack.isSuspect ? this.#suspects : this.#waiting).push(ack);
    this.#oldest = Math.min(this.#oldest, now);
  }

  /** When the outcomes should go; `isLast` says that no other is about to come. */
  due(isLast: boolean): number {
    if (this.#waiting.length + this.#suspects.length === 0) return Infinity;
    return isLast || this.#waiting.length >= MANY ? this.#oldest : this.#oldest + this.delay;
  }

  /** Takes as many as fit in one request; `settled` gives them up. */
  take(): OutgoingAck[] {
    let size = 0;
    let count = 0;
    for (const ack of this.#waiting) {
      size += ack.text.length;
      if (count === MOST_ITEMS || (count > 0 && size > MOST_CHARACTERS)) break;
      count++;
    }
    return this.#taken(this.#waiting.splice(0, count));
  }

  /** As `take`, but also one that has to go alone. */
  takeOrSuspect(): OutgoingAck[] {
    return this.#suspects.length ? this.#taken(this.#suspects.splice(0, 1)) : this.take();
  }

  /** These were answered, or come back by `add`. */
  settled(acks: OutgoingAck[]): void {
    this.#inFlight -= acks.length;
  }

  #taken(acks: OutgoingAck[]): OutgoingAck[] {
    this.#inFlight += acks.length;
    if (this.#waiting.length + this.#suspects.length === 0) this.#oldest = Infinity;
    return acks;
  }
}
