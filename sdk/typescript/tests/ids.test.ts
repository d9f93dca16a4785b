import assert from "node:assert/strict";
import { createHash, randomFillSync } from "node:crypto";
import test from "node:test";

import { IdMaker } from "#dist/ids.js";
import { sha256 } from "#dist/sha256.js";

test("sha256 agrees with that of the platform", () => {
  for (const text of [
    "",
    "default",
    "é".repeat(40),
    "a".repeat(55),
    "a".repeat(56),
    "b".repeat(1000),
  ]) {
    const words = Buffer.alloc(32);
    sha256(text).forEach((word, i) => words.writeUInt32BE(word, i * 4));
    assert.equal(words.toString("hex"), createHash("sha256").update(text).digest("hex"), text);
  }
});

test("ids are UUIDv7 with the bits of their queue, and never the same twice", () => {
  const maker = new IdMaker((bytes) => randomFillSync(bytes));
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, () => maker.make("mail"));
  assert.equal(new Set(ids).size, ids.length);
  const bits = createHash("sha256").update("mail").digest("hex").slice(0, 3);
  for (const id of ids) {
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(id.slice(15, 18), bits);
    const at = parseInt(id.replaceAll("-", "").slice(0, 12), 16);
    assert.ok(at >= before && at <= Date.now(), "the time of an id");
  }
});

test("ids differ also if the platform's randomness is poor", () => {
  const maker = new IdMaker((bytes) => bytes.fill(0xff));
  const ids = Array.from({ length: 1_000 }, () => maker.make("default"));
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /-[89ab][0-9a-f]{3}-/);
});
