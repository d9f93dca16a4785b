import { sha256 } from "./sha256.js";

/** Fills the array with random bytes and returns it. */
export type Random = (bytes: Uint8Array) => Uint8Array;

const MOST_QUEUES_REMEMBERED = 1_000;

/**
 * Makes UUIDv7 whose 12 bits after the version depend on the queue, so that every server of a
 * cluster knows which shard has the job. The other random bits begin with a counter: the ids of one
 * maker are unique.
 */
export class IdMaker {
  readonly #random: Random;
  readonly #bits = new Map<string, number>();
  readonly #pool = new Uint8Array(1_024);
  #used = this.#pool.length;
  #count: number | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  make(queue: string): string {
    const time = Date.now().toString(16).padStart(12, "0");
    this.#count = ((this.#count ?? this.#random32()) + 1) >>> 0;
    const count = this.#count;
    // 2 bits of the variant, 32 of the counter, 30 random ones.
    const high = (0x80000000 | (count >>> 2)) >>> 0;
    const low = (((count & 3) << 30) | (this.#random32() >>> 2)) >>> 0;
    const tail = hex(high) + hex(low);
    const bits = this.#queueBits(queue).toString(16).padStart(3, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${bits}-${tail.slice(0, 4)}-${tail.slice(4)}`;
  }

  #queueBits(queue: string): number {
    let bits = this.#bits.get(queue);
    if (bits === undefined) {
      bits = (sha256(queue)[0] as number) >>> 20;
      if (this.#bits.size < MOST_QUEUES_REMEMBERED) this.#bits.set(queue, bits);
    }
    return bits;
  }

  #random32(): number {
    if (this.#used === this.#pool.length) {
      this.#random(this.#pool);
      this.#used = 0;
    }
    const word = new DataView(this.#pool.buffer).getUint32(this.#used);
    this.#used += 4;
    return word;
  }
}

const hex = (word: number): string => word.toString(16).padStart(8, "0");
