/** SHA-256 without the APIs that only Node.js has or that are asynchronous in browsers. */

const INITIAL = fractions(8, (prime) => Math.sqrt(prime));
const ROUNDS = fractions(64, (prime) => Math.cbrt(prime));

// Returns the first 32 bits of the fractional parts of the roots of the first primes.
function fractions(count: number, root: (prime: number) => number): Uint32Array {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= n; divisor++) isPrime &&= n % divisor !== 0;
    if (isPrime) found.push(Math.floor((root(n) % 1) * 2 ** 32));
  }
  return Uint32Array.from(found);
}

type Words = [number, number, number, number, number, number, number, number];

function padded(message: Uint8Array): DataView {
  const blocks = Math.ceil((message.length + 9) / 64);
  const bytes = new Uint8Array(blocks * 64);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 4, message.length * 8);
  return view;
}

const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

/** Returns the SHA-256 of up to 512 MiB of text in UTF-8, as eight words of 32 bits. */
export function sha256(text: string): Uint32Array {
  const message = padded(new TextEncoder().encode(text));
  const state = INITIAL.slice();
  const w = new Uint32Array(64);
  for (let block = 0; block < message.byteLength; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = message.getUint32(block + i * 4);
    for (let i = 16; i < 64; i++) {
      const [a, b] = [w[i - 15] as number, w[i - 2] as number];
      const s0 = rotated(a, 7) ^ rotated(a, 18) ^ (a >>> 3);
      const s1 = rotated(b, 17) ^ rotated(b, 19) ^ (b >>> 10);
      w[i] = (w[i - 16] as number) + s0 + (w[i - 7] as number) + s1;
    }
    mix(state, w);
  }
  return state;
}

function mix(state: Uint32Array, w: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = state as Iterable<number> as Words;
  for (let i = 0; i < 64; i++) {
    const s1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const t1 = h + s1 + ((e & f) ^ (~e & g)) + (ROUNDS[i] as number) + (w[i] as number);
    const s0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) >>> 0, c, b, a, (t1 + t2) >>> 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] as number) + word));
}
