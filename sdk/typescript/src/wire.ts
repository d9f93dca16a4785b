/**
 * The names of the API in TypeScript: `max_attempts` becomes `maxAttempts`. Durations, which are
 * always numbers of milliseconds, lose their suffix: `delay_ms` becomes `delay`. Payloads, results,
 * checkpoints and maps of the application are left unchanged.
 */
import { opaqueText, plainJson, readAnswer, type JsonCodec } from "./json.js";
import { DURATIONS, DURATIONS_ELSEWHERE, MAPS, OPAQUE, VERBATIM } from "./members.js";

const snakes = new Map<string, string>();
const camels = new Map<string, string>();

function remembered(names: Map<string, string>, name: string, make: () => string): string {
  let found = names.get(name);
  if (found === undefined) {
    found = make();
    if (names.size < 1_000) names.set(name, found); // an application may send any names
  }
  return found;
}

function snake(name: string, parent: string): string {
  const plain = remembered(snakes, name, () =>
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  return (DURATIONS[parent] ?? DURATIONS_ELSEWHERE).has(name) ? `${plain}_ms` : plain;
}

function camel(name: string): string {
  return remembered(camels, name, () =>
    name.replace(/_ms$/, "").replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  );
}

/** Returns the API's JSON text for a value of this package. */
export function encode(value: unknown, codec: JsonCodec = plainJson, parent = ""): string {
  if (value instanceof Date) return JSON.stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((item) => encode(item, codec, parent)).join(",")}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  let text = "";
  for (const [name, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    const key = MAPS.has(parent) ? name : snake(name, parent);
    text += `${text && ","}${JSON.stringify(key)}:${member(name, inner, codec, MAPS.has(parent))}`;
  }
  return `{${text}}`;
}

function member(name: string, value: unknown, codec: JsonCodec, isOwnName: boolean): string {
  if (isOwnName) return encode(value, codec);
  if (OPAQUE.has(name)) return opaqueText(value, codec);
  return VERBATIM.has(name) ? JSON.stringify(value) : encode(value, codec, name);
}

/** Returns this package's value for a parsed answer of the API. */
export function decode(value: unknown, parent = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => decode(item, parent));
  if (typeof value !== "object" || value === null) return value;
  const members: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) {
    if (MAPS.has(parent)) {
      members[name] = decode(inner);
    } else {
      const keeps = OPAQUE.has(name) || VERBATIM.has(name);
      members[camel(name)] = keeps ? inner : decode(inner, name);
    }
  }
  return members;
}

/** Parses the text of an answer; the names stay the API's. */
export function parseAnswer(text: string, codec: JsonCodec): unknown {
  const value = JSON.parse(text) as unknown;
  return codec === plainJson ? value : readAnswer(text, (opaque) => codec.parse(opaque));
}
