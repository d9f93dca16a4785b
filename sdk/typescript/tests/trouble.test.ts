// What fails within a handler, a logger or this package frees the slot and is reported.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import test, { describe } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";

import {
  cancel,
  currentContext,
  IdempotencyMismatch,
  Millrace,
  NonRetryable,
  plainJson,
  QueueFull,
  type WorkerOptions,
} from "@millrace/sdk";

import { answering, ownQueue, Server, strangeServer } from "./support.js";

const server = await Server.running();
const mr = new Millrace({ url: server.url });
const silent = { info: () => undefined, warn: () => undefined };

/** Returns a function that runs a handler once in a worker with one slot, and waits for the job. */
function runner(t: test.TestContext, options: WorkerOptions = {}) {
  const job = mr.job<string>("work", { queue: ownQueue(), maxAttempts: 1 });
  const handlers = new Map<string, () => unknown>();
  const worker = mr.worker({
    queues: [job.defaults.queue as string],
    concurrency: 1,
    logger: silent,
    ...options,
  });
  t.after(() => worker.stop());
  worker.on(job, (name) => handlers.get(name)?.()).start();
  return async (name: string, handler: () => unknown) => {
    handlers.set(name, handler);
    return job.wait((await job.submit(name)).job.id);
  };
}

const fails = (): never => {
  throw undefined;
};

class Indescribable extends Error {
  override get message(): string {
    return fails();
  }
  override get stack(): string {
    return fails();
  }
}

test("an error that can't be described is reported like any other", async (t) => {
  const run = runner(t);
  const errors: Record<string, unknown> = {
    Indescribable: new Indescribable(),
    Error: new Proxy(new Error("hidden"), { get: fails, getPrototypeOf: () => Error.prototype }),
    object: { toString: fails },
    symbol: Symbol("s"),
    undefined: undefined,
  };
  for (const [type, error] of Object.entries(errors)) {
    const { state, lastError } = await run(type, () => {
      throw error;
    });
    assert.deepEqual([state, lastError?.type], ["dead", type]);
    assert.match(lastError?.message ?? "", /./);
  }
  const closed = new Proxy({}, { getPrototypeOf: fails, get: fails });
  const { state, lastError } = await run("closed", () => {
    throw closed;
  });
  assert.deepEqual([state, lastError?.message], ["dead", "an error that can't be described"]);
  const final = await run("final", () => {
    throw Object.defineProperty(new NonRetryable("x"), "message", { get: fails });
  });
  assert.equal(final.lastError?.type, "NonRetryable");
});

test("half a surrogate costs neither an error nor a line", async (t) => {
  const run = runner(t);
  const failed = await run("error", () => {
    throw new RangeError("before \ud83d after");
  });
  assert.equal(failed.lastError?.type, "RangeError");
  assert.equal(failed.lastError.message, "before \ufffd after");
  const ended = await run("reason", () => cancel("no \udc00 reason"));
  assert.equal(ended.state, "cancelled");
  assert.equal((await mr.logs(ended.id)).items[0]?.message, "no \ufffd reason");
});

test("a logger that fails ends no worker", async (t) => {
  const run = runner(t, { logger: { info: fails, warn: fails } });
  const write = process.stderr.write;
  t.after(() => (process.stderr.write = write));
  process.stderr.write = () => true;
  for (const name of ["one", "two"]) {
    const { state } = await run(name, () => {
      throw new Error("no");
    });
    assert.equal(state, "dead");
  }
});

test("a refused outcome names what is wrong with it", async (t) => {
  const run = runner(t);
  const { lastError } = await run("big", () => "x".repeat(2 << 20));
  assert.equal(lastError?.type, "outcome_refused");
  assert.match(lastError.message, /result|MiB|larger|bytes/);
  const named = await run("named", () => currentContext()?.enqueue({ type: "not a name" }));
  assert.equal(named.lastError?.type, "outcome_refused");
  assert.match(named.lastError.message, /\/enqueue\/0\/type: /);
});

describe("what JSON would empty", () => {
  test("is refused by its place", async (t) => {
    const work = mr.job<unknown>("work", { queue: ownQueue() });
    await assert.rejects(work.submit(new Map([[1, 2]])), /the Map is not JSON.*fromEntries/);
    await assert.rejects(work.submit({ a: [1, new Set([2])] }), /the Set at \/a\/1 is not JSON/);
    assert.throws(
      () => plainJson.stringify({ later: Promise.resolve(1) }),
      /the Promise at \/later/,
    );
    assert.throws(() => plainJson.stringify([new Error("lost")]), /the Error at \/0/);
    const { lastError } = await runner(t)("map", () => new Map());
    assert.match(lastError?.message ?? "", /the Map is not JSON/);
  });

  test("is nothing else", () => {
    class Empty {}
    const value = { a: {}, b: [], c: new Empty(), d: new Date(0), e: Object.create(null), f: "{}" };
    assert.equal(plainJson.stringify(value), JSON.stringify(value));
  });
});

describe("a token", () => {
  test("is sent without the blanks around it", async () => {
    const { url, seen } = await strangeServer(answering(200, { items: [], next_cursor: null }));
    await new Millrace({ url, token: " \tmlr_secret\r\n" }).queues();
    await new Millrace({ url, token: "\n" }).queues();
    assert.deepEqual(
      seen.map((request) => request.headers.authorization),
      ["Bearer mlr_secret", undefined],
    );
  });

  test("that can't be one is refused, and none is printed", () => {
    for (const token of ["mlr_hid\r\nX: y", "mlr_hid\0den", "mlr hidden", "mlr_hidd\u00e9n"]) {
      assert.throws(
        () => new Millrace({ token }),
        (error: Error) => error instanceof TypeError && !/hid/.test(inspect(error)),
      );
    }
    const client = new Millrace({ token: "mlr_hidden" });
    assert.doesNotMatch(inspect(client, { depth: 9, showHidden: true }), /mlr_hidden/);
    assert.doesNotMatch(JSON.stringify(client), /mlr_hidden/);
  });
});

test("a full queue is tried for as long as the client says", async () => {
  const full = { status: 429, code: "queue_full", detail: "the queue is full" };
  const answers = [answering(429, full, { "retry-after": "3" })];
  const { url, seen } = await strangeServer(...answers);
  await assert.rejects(new Millrace({ url }).submit({ type: "t" }), QueueFull);
  assert.equal(seen.length, 1, "a pause of 3 s is longer than 2 s");
  const patient = new Millrace({ url, queueFullTimeout: 4_000 });
  await assert.rejects(patient.submit({ type: "t" }), QueueFull);
  assert.equal(seen.length, 3);
});

test("a key that was used with another body has an error of its own", async () => {
  const work = mr.job<number>("work", { queue: ownQueue(), idempotencyKey: "k" });
  await work.submit(1);
  await assert.rejects(work.submit(2), IdempotencyMismatch);
});

describe("two signals while a handler computes", () => {
  const ended = async (looks: boolean) => {
    const queue = ownQueue();
    const { job } = await mr.submit({ type: "compute", queue });
    const program = fileURLToPath(new URL("./computing.js", import.meta.url));
    const args = [program, server.url, queue, ...(looks ? ["looks"] : [])];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
    const exit = once(child, "exit");
    await once(child.stdout, "data");
    child.kill("SIGTERM");
    await new Promise((resolve) => setTimeout(resolve, 500)); // two at once would count as one
    child.kill("SIGTERM");
    const [code, signal] = (await exit) as [number | null, string | null];
    return { code, signal, job: await mr.get(job.id, { include: ["attempts"] }) };
  };

  test("are seen by a handler that looks", async () => {
    const { code, job } = await ended(true);
    assert.equal(code, 0);
    assert.deepEqual([job.state, job.lastError?.message], ["retrying", "stopping"]);
  });

  test("end the process of one that does not, and give the job back", async () => {
    const { signal, job } = await ended(false);
    assert.equal(signal, "SIGKILL");
    assert.deepEqual([job.state, job.attempt, job.crashes], ["ready", 0, 0]);
  });
});
