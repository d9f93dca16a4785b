/**
 * The leases of a worker, in memory that its two threads share. The worker's thread writes a row
 * for each attempt. The keeper's thread extends leases whose heartbeats are late because a handler
 * blocks the worker's thread, and stores the server's answers.
 *
 * A row is reused by later attempts. Its number changes with each, so that an answer is never taken
 * for that of a later attempt. Times are of the process's monotonic clock, in milliseconds.
 */

const ID_BYTES = 36;
const INTEGERS = 4; // number, number of the answer, its content, unused
const FLOATS = 5; // token, lease, when the heartbeat is due, certain until, certain by the answer
const ROW_BYTES = INTEGERS * 4 + FLOATS * 8 + 40; // the id's 36 bytes, rounded up
const HEADER_BYTES = 16; // when the keeper wakes up; the signals that it and the worker have got
const SIGNALS = 2; // the place of the keeper's number among the integers; the worker's follows

/** The server's answers to the keeper about an attempt. */
export const CANCELLED = 1;
export const LOST = 2;

/** An attempt in the table: `number` is even while the row is free. */
export interface Row {
  index: number;
  number: number;
}

export class LeaseTable {
  readonly #integers: Int32Array;
  readonly #floats: Float64Array;
  readonly #bytes: Uint8Array;

  constructor(readonly memory: SharedArrayBuffer) {
    this.#integers = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
    this.#bytes = new Uint8Array(memory);
  }

  static withRows(count: number): LeaseTable {
    const table = new LeaseTable(new SharedArrayBuffer(HEADER_BYTES + count * ROW_BYTES));
    table.keeperWakesAt = Infinity;
    return table;
  }

  get rows(): number {
    return (this.memory.byteLength - HEADER_BYTES) / ROW_BYTES;
  }

  get keeperWakesAt(): number {
    return this.#floats[0] as number;
  }

  set keeperWakesAt(at: number) {
    this.#floats[0] = at;
  }

  /** How many signals to stop the keeper has got. It gets them even if a handler computes. */
  get signals(): number {
    return Atomics.load(this.#integers, SIGNALS);
  }

  noteSignal(): void {
    Atomics.add(this.#integers, SIGNALS, 1);
  }

  /** How many of them the worker's own thread has got. */
  get heard(): number {
    return Atomics.load(this.#integers, SIGNALS + 1);
  }

  noteHeard(): void {
    Atomics.add(this.#integers, SIGNALS + 1, 1);
  }

  // The worker's side.

  enter(index: number, id: string, token: number, lease: number): Row {
    const start = this.#start(index);
    for (let i = 0; i < ID_BYTES; i++) this.#bytes[start + 56 + i] = id.charCodeAt(i);
    this.#setFloat(index, 0, token);
    this.#setFloat(index, 1, lease);
    return { index, number: Atomics.add(this.#integers, start / 4, 1) + 1 };
  }

  leave({ index }: Row): void {
    Atomics.add(this.#integers, this.#start(index) / 4, 1);
  }

  /** Stores when the worker plans its next heartbeat, and until when the lease is certain. */
  plan({ index }: Row, beatDue: number, certainUntil: number): void {
    this.#setFloat(index, 2, beatDue);
    this.#setFloat(index, 3, certainUntil);
  }

  /** Returns the answer to the keeper, if it sent a heartbeat for this attempt. */
  answer({ index, number }: Row): { certainUntil: number; told: number } | undefined {
    const at = this.#start(index) / 4;
    if (Atomics.load(this.#integers, at + 1) !== number) return undefined;
    const certainUntil = this.#float(index, 4);
    return { certainUntil, told: Atomics.load(this.#integers, at + 2) };
  }

  // The keeper's side.

  number(index: number): number {
    return Atomics.load(this.#integers, this.#start(index) / 4);
  }

  read(index: number): { id: string; token: number; lease: number; due: number; certain: number } {
    const id = this.#start(index) + 56;
    return {
      id: String.fromCharCode(...this.#bytes.slice(id, id + ID_BYTES)),
      token: this.#float(index, 0),
      lease: this.#float(index, 1),
      due: this.#float(index, 2),
      certain: this.#float(index, 3),
    };
  }

  write({ index, number }: Row, certainUntil: number, told: number): void {
    if (this.number(index) !== number) return;
    const at = this.#start(index) / 4;
    this.#setFloat(index, 4, certainUntil);
    Atomics.store(this.#integers, at + 2, told);
    Atomics.store(this.#integers, at + 1, number);
  }

  #start(index: number): number {
    return HEADER_BYTES + index * ROW_BYTES;
  }

  #float(index: number, n: number): number {
    return this.#floats[(this.#start(index) + INTEGERS * 4) / 8 + n] as number;
  }

  #setFloat(index: number, n: number, value: number): void {
    this.#floats[(this.#start(index) + INTEGERS * 4) / 8 + n] = value;
  }
}
