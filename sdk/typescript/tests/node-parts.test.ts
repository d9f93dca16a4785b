import assert from "node:assert/strict";
import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import test, { describe } from "node:test";

import { Millrace } from "@millrace/sdk";
import { Context, type PendingWish } from "#dist/context.js";
import { Gate } from "#dist/node/gate.js";
import { CANCELLED, LeaseTable } from "#dist/node/lease-table.js";
import { Outbox } from "#dist/node/outbox.js";
import { ackText } from "#dist/node/wire-worker.js";

const ack = (id: string, text = "x", isSuspect = false) => ({ id, token: 1, text, isSuspect });

test("what a handler asks of limits goes with its outcome", () => {
  type Inner = Context & { wishes: PendingWish[] };
  const context = new (Context as unknown as new (...parts: unknown[]) => Inner)({}, 7, {});
  assert.throws(() => context.slowDown("api", { forMs: 99 }), RangeError);
  context.slowDown("api", { forMs: 60_000 });
  context.slowDown("acct", { key: "k", forMs: 100 });
  context.slowDown("api", { forMs: 3_600_000 });
  const text = ackText(
    { id: "a", token: 7 },
    { outcome: "snoozed", delay: 5 },
    { wishes: context.wishes },
  );
  assert.deepEqual(JSON.parse(text).slow_down, [
    { limit: "api", for_ms: 3_600_000 },
    { limit: "acct", for_ms: 100, key: "k" },
  ]);
});

describe("the outbox", () => {
  test("lets an outcome wait for others, unless none is to come or many wait", () => {
    const outbox = new Outbox(5);
    assert.equal(outbox.due(false), Infinity);
    outbox.add(ack("a"), 100);
    outbox.add(ack("b"), 103);
    assert.deepEqual([outbox.due(false), outbox.due(true)], [105, 100]);
    for (let i = 2; i < 64; i++) outbox.add(ack(`${i}`), 104);
    assert.equal(outbox.due(false), 100);
    const taken = outbox.take();
    assert.deepEqual([taken.length, outbox.due(false), outbox.isEmpty], [64, Infinity, false]);
    outbox.settled(taken);
    assert.equal(outbox.isEmpty, true);
  });

  test("gives no more than a request may carry", () => {
    const outbox = new Outbox(5);
    for (let i = 0; i < 1_001; i++) outbox.add(ack(`${i}`), 0);
    assert.equal(outbox.take().length, 1_000);
    assert.equal(outbox.take().length, 1);
    for (let i = 0; i < 3; i++) outbox.add(ack(`${i}`, "x".repeat(3 << 20)), 0);
    assert.equal(outbox.take().length, 1);
  });

  test("lets those go alone that may be why a request was refused", () => {
    const outbox = new Outbox(5);
    outbox.add(ack("good"), 0);
    outbox.add(ack("suspect", "x", true), 0);
    assert.deepEqual(
      outbox.take().map(({ id }) => id),
      ["good"],
    );
    assert.deepEqual(
      outbox.takeOrSuspect().map(({ id }) => id),
      ["suspect"],
    );
  });
});

test("a gate keeps one word for whoever comes next, and the earliest of its times", async () => {
  const gate = new Gate();
  gate.open();
  await gate.wait();
  let isThrough = false;
  const waiting = gate.wait().then(() => (isThrough = true));
  gate.openAt(10_000, 0);
  gate.openAt(10, 0);
  gate.openAt(20_000, 0);
  await turn();
  assert.equal(isThrough, false);
  await waiting;
});

test("the table of leases takes no answer for that of a later attempt", () => {
  const table = LeaseTable.withRows(2);
  const id = "01a2155d-fa9e-78e3-b0a1-68b5c55c3929";
  const row = table.enter(1, id, 2 ** 53 - 1, 30_000);
  table.plan(row, 10.5, 20.25);
  const other = new LeaseTable(table.memory);
  assert.equal(other.rows, 2);
  assert.deepEqual(other.read(1), {
    id,
    token: 2 ** 53 - 1,
    lease: 30_000,
    due: 10.5,
    certain: 20.25,
  });
  assert.deepEqual([other.number(0) % 2, other.number(1) % 2], [0, 1]);
  assert.equal(table.answer(row), undefined);
  other.write({ index: 1, number: other.number(1) }, 99, CANCELLED);
  assert.deepEqual(table.answer(row), { certainUntil: 99, told: CANCELLED });
  const late = { index: 1, number: other.number(1) };
  table.leave(row);
  const next = table.enter(1, id, 8, 30_000);
  assert.equal(table.answer(next), undefined);
  other.write(late, 77, 0);
  assert.equal(table.answer(next), undefined);
});

test("an answer that came while the thread was busy is read, however late it is", async (t) => {
  // The server runs in another thread, as this one is blocked.
  const { Worker } = await import("node:worker_threads");
  const program = `
    const { createServer } = require("node:http");
    const { parentPort, workerData } = require("node:worker_threads");
    const server = createServer((_, response) => {
      parentPort.postMessage("asked");
      const sent = () => Atomics.store(workerData, 0, 1);
      setTimeout(() => response.end('{"items":[],"next_cursor":null}', sent), 100);
    });
    server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));`;
  const isSent = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(program, { eval: true, workerData: isSent });
  t.after(() => thread.terminate());
  const port = await new Promise<number>((resolve) => thread.once("message", resolve));
  const client = new Millrace({ url: `http://127.0.0.1:${port}`, timeout: 3_000 });
  const asked = once(thread, "message");
  const until = performance.now() + 3_500;
  const call = client.queues();
  await asked;
  await turn(); // timers come next, before what has arrived is read
  while (performance.now() < until || !Atomics.load(isSent, 0));
  assert.deepEqual((await call).items, []);
});
