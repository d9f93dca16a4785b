import { MAPS, OPAQUE, VERBATIM } from "./members.js";

/**
 * Converts payloads, results and checkpoints to JSON text and back. It is used for nothing else:
 * this package itself reads and writes the members of the API.
 */
export interface JsonCodec {
  /** Returns the value of a JSON text. */
  parse(text: string): unknown;
  /** Returns the JSON text of a value. Throws if the value is not JSON. */
  stringify(value: unknown): string;
}

/** JSON text that is sent byte for byte as a payload, result or checkpoint. */
export class RawJson {
  /** Wraps a text. Throws a SyntaxError if it is not JSON. */
  constructor(readonly text: string) {
    JSON.parse(text);
  }
}

/**
 * The codec of `JSON.parse` and `JSON.stringify`. Integers beyond 2^53 lose digits. It refuses a
 * `Map`, a `Promise` and the like, which `JSON.stringify` would write as `{}`.
 */
export const plainJson: JsonCodec = {
  parse: (text) => JSON.parse(text) as unknown,
  stringify: (value) => unemptied(value, JSON.stringify(value)),
};

/**
 * A codec that keeps every digit of integers. Integers beyond 2^53 become `bigint`, and a `bigint`
 * is written as a JSON number. Other numbers are `number`.
 */
export const exactJson: JsonCodec = {
  parse(text) {
    const value = JSON.parse(text) as unknown; // also rejects text that is not JSON
    return /\d{16}/.test(text) ? new Reader(text, exactNumber).value() : value;
  },
  stringify: exactText,
};

/** Returns the text of an application's value. Throws a TypeError if it is not JSON. */
export function opaqueText(value: unknown, codec: JsonCodec): string {
  if (value instanceof RawJson) return value.text;
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`${value} is not JSON`);
  }
  const text = codec.stringify(value) as string | undefined;
  if (typeof text !== "string") throw new TypeError(`a ${typeof value} is not JSON`);
  return text;
}

/** Reads a server's answer. `opaque` converts the text of each opaque value. */
export function readAnswer(text: string, opaque: (text: string) => unknown): unknown {
  return new Reader(text, Number, opaque).value();
}

// Reads JSON accepted by JSON.parse or sent by a server.
class Reader {
  #at = 0;

  constructor(
    readonly text: string,
    readonly number: (text: string) => unknown,
    readonly opaque?: (text: string) => unknown,
  ) {}

  value(readsOpaque = true): unknown {
    this.#space();
    switch (this.text[this.#at]) {
      case "{":
        return this.#object(readsOpaque);
      case "[":
        return this.#array(readsOpaque);
      case '"':
        return this.#string();
      default:
        return this.#word();
    }
  }

  #space(): void {
    while (this.#at < this.text.length && this.text.charCodeAt(this.#at) <= 0x20) this.#at++;
  }

  #object(readsOpaque: boolean, hasOwnNames = false): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    this.#at++;
    for (this.#space(); this.text[this.#at] !== "}"; this.#space()) {
      if (this.text[this.#at] === ",") {
        this.#at++;
        this.#space();
      }
      this.#needMore();
      const key = this.#string();
      this.#space();
      this.#at++; // the colon
      const value = hasOwnNames ? this.value(readsOpaque) : this.#member(key, readsOpaque);
      if (key === "__proto__") {
        Object.defineProperty(members, key, { value, enumerable: true, writable: true });
      } else {
        members[key] = value;
      }
    }
    this.#at++;
    return members;
  }

  #member(key: string, readsOpaque: boolean): unknown {
    if (!this.opaque || !readsOpaque) return this.value(readsOpaque);
    this.#space();
    if (MAPS.has(key) && this.text[this.#at] === "{") return this.#object(true, true);
    if (!OPAQUE.has(key)) return this.value(!VERBATIM.has(key));
    const start = this.#at;
    this.value(false);
    return this.opaque(this.text.slice(start, this.#at));
  }

  #array(readsOpaque: boolean): unknown[] {
    const items: unknown[] = [];
    this.#at++;
    for (this.#space(); this.text[this.#at] !== "]"; this.#space()) {
      if (this.text[this.#at] === ",") this.#at++;
      this.#needMore();
      items.push(this.value(readsOpaque));
    }
    this.#at++;
    return items;
  }

  #string(): string {
    const start = this.#at;
    let end = start;
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) throw new SyntaxError("a string does not end");
    } while (isEscaped(this.text, end));
    this.#at = end + 1;
    const inner = this.text.slice(start + 1, end);
    return inner.includes("\\") ? (JSON.parse(`"${inner}"`) as string) : inner;
  }

  #word(): unknown {
    const start = this.#at;
    while (this.#at < this.text.length && !/[\s,\]}]/.test(this.text[this.#at] as string))
      this.#at++;
    const word = this.text.slice(start, this.#at);
    if (word === "true") return true;
    if (word === "false") return false;
    if (word === "null") return null;
    return this.number(word);
  }

  #needMore(): void {
    if (this.#at >= this.text.length) throw new SyntaxError("the JSON text does not end");
  }
}

function isEscaped(text: string, quote: number): boolean {
  let before = quote;
  while (text[before - 1] === "\\") before--;
  return (quote - before) % 2 === 1;
}

function exactNumber(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) || !/^-?\d+$/.test(text) ? number : BigInt(text);
}

// Returns the text of a value, unless it would lose the content of an object within the value.
function unemptied(value: unknown, text: string): string {
  if (text?.includes("{}")) refuseEmptied("", value);
  return text;
}

function refuseEmptied(path: string, value: unknown): void {
  if (typeof value !== "object" || value === null || "toJSON" in value) return;
  const name = Object.prototype.toString.call(value).slice(8, -1);
  if (name !== "Object" && name !== "Array" && JSON.stringify(value) === "{}") {
    const where = path && ` at ${path}`;
    const hint = HINTS[name];
    throw new TypeError(
      `the ${name}${where} is not JSON: it would be sent as {}${hint ? `; send ${hint}` : ""}`,
    );
  }
  for (const [key, inner] of Object.entries(value)) refuseEmptied(`${path}/${key}`, inner);
}

const HINTS: Record<string, string> = {
  Map: "Object.fromEntries(map) or [...map]",
  Set: "[...set]",
  Promise: "what it resolves to",
};

function exactText(value: unknown): string {
  try {
    return unemptied(value, JSON.stringify(value));
  } catch (fault) {
    if (!containsBigInt(value, new Set())) throw fault; // a cycle, or an exception of toJSON
    return unemptied(value, textOf("", value) as string);
  }
}

function containsBigInt(value: unknown, above: Set<object>): boolean {
  if (typeof value === "bigint") return true;
  if (typeof value !== "object" || value === null || above.has(value)) return false;
  above.add(value);
  const found = Object.values(value).some((inner) => containsBigInt(inner, above));
  above.delete(value);
  return found;
}

function textOf(key: string, value: unknown): string | undefined {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const toJSON = (value as { toJSON?: (key: string) => unknown }).toJSON;
  if (typeof toJSON === "function") return textOf(key, toJSON.call(value, key));
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => textOf(String(index), item) ?? "null").join(",")}]`;
  }
  const members = Object.entries(value).flatMap(([name, inner]) => {
    const text = textOf(name, inner);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${members.join(",")}}`;
}
