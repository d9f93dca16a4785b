import assert from "node:assert/strict";
import test from "node:test";

import { exactJson, plainJson, RawJson } from "@millrace/sdk";
import { opaqueText, readAnswer } from "#dist/json.js";
import { decode, encode, parseAnswer } from "#dist/wire.js";

test("exactJson keeps the digits of integers that a number can't hold", () => {
  const text = '{"a":9007199254740993,"b":[-12345678901234567890,1.5,9007199254740991],"c":1e400}';
  const value = exactJson.parse(text) as any;
  assert.equal(value.a, 9007199254740993n);
  assert.deepEqual(value.b, [-12345678901234567890n, 1.5, 9007199254740991]);
  assert.equal(exactJson.stringify({ a: value.a, b: value.b }), text.replace(',"c":1e400', ""));
});

test("exactJson reads what JSON.parse reads", () => {
  const texts = [
    '{"a\\"b":"c\\\\","d":"\\u00e9\\n","e":{},"f":[],"g":[[],{"h":null}],"n":1234567890123456}',
    ' [ true , false , null , -0.5e-3 , "" , 1234567890123456 ] ',
    '"1234567890123456"',
  ];
  for (const text of texts) assert.deepEqual(exactJson.parse(text), JSON.parse(text));
  const own = exactJson.parse('{"__proto__":{"x":1234567890123456}}') as object;
  assert.equal(Object.getPrototypeOf(own), Object.prototype);
  assert.deepEqual(Object.keys(own), ["__proto__"]);
});

test("exactJson refuses what is not JSON", () => {
  for (const text of [
    "",
    "{",
    '{"a":1234567890123456',
    "[1234567890123456,]",
    "01234567890123456",
  ]) {
    assert.throws(() => exactJson.parse(text), SyntaxError, text);
  }
});

test("exactJson writes as JSON.stringify does, and bigint besides", () => {
  const date = new Date(0);
  const value = { date, skipped: undefined, list: [undefined, () => 1], big: 2n ** 64n, text: "é" };
  const expected = JSON.stringify({ ...value, big: "BIG" }).replace(
    '"BIG"',
    "18446744073709551616",
  );
  assert.equal(exactJson.stringify(value), expected);
  const cycle: any = { big: 1 };
  cycle.self = cycle;
  assert.throws(() => exactJson.stringify(cycle), TypeError);
});

test("what is no JSON is refused", () => {
  for (const value of [NaN, Infinity, () => 1, Symbol("s"), undefined, 1n]) {
    assert.throws(() => opaqueText(value, plainJson), TypeError);
  }
  assert.throws(() => new RawJson("{"), SyntaxError);
  assert.equal(opaqueText(new RawJson('{ "a" : 1.0 }'), plainJson), '{ "a" : 1.0 }');
});

test("names and durations are spelled as the API's", () => {
  const value = {
    type: "t",
    runAt: new Date(0),
    delay: 5,
    maxAttempts: 3,
    skipped: undefined,
    payload: { runAt: 1, jitter: 2 },
    retry: { strategy: "fixed", base: 10, jitter: 0 },
    unique: { key: "k", for: 7, onConflict: "reject", maxWait: 9 },
    limits: [{ name: "api", key: "acme", cost: 2 }],
    orderKey: "o",
    orderOnFailure: "pass",
    fairKey: "acme",
    retention: { dead: 8 },
    schedules: { "my.Schedule": { every: 1000, jitter: 3, job: { payload: { maxAttempts: 1 } } } },
    meta: { ownName: "x" },
  };
  const wire = JSON.parse(encode(value));
  assert.deepEqual(wire, {
    type: "t",
    run_at: "1970-01-01T00:00:00.000Z",
    delay_ms: 5,
    max_attempts: 3,
    payload: { runAt: 1, jitter: 2 },
    retry: { strategy: "fixed", base_ms: 10, jitter: 0 },
    unique: { key: "k", for_ms: 7, on_conflict: "reject", max_wait_ms: 9 },
    limits: [{ name: "api", key: "acme", cost: 2 }],
    order_key: "o",
    order_on_failure: "pass",
    fair_key: "acme",
    retention: { dead_ms: 8 },
    schedules: {
      "my.Schedule": { every_ms: 1000, jitter_ms: 3, job: { payload: { maxAttempts: 1 } } },
    },
    meta: { ownName: "x" },
  });
  const { skipped: _, ...rest } = { ...value, runAt: "1970-01-01T00:00:00.000Z" };
  assert.deepEqual(decode(wire), rest);
});

test("a codec sees opaque members alone", () => {
  const text =
    '{"id":"1","payload": {"payload":1} ,"meta":{"payload":"x"},"items":[{"result":[2]}]}';
  const seen: string[] = [];
  const codec = {
    parse: (raw: string) => {
      seen.push(raw);
      return raw.length;
    },
    stringify: String,
  };
  assert.deepEqual(parseAnswer(text, codec), {
    id: "1",
    payload: 13,
    meta: { payload: "x" },
    items: [{ result: 3 }],
  });
  assert.deepEqual(seen, ['{"payload":1}', "[2]"]);
  assert.throws(() => readAnswer('{"a":"', String), SyntaxError);
  assert.throws(() => readAnswer('{"a":[1', String), SyntaxError);
});
