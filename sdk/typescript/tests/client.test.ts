import assert from "node:assert/strict";
import * as http from "node:http";
import test, { describe } from "node:test";

import {
  DuplicateJob,
  exactJson,
  IdMismatch,
  InvalidState,
  Millrace,
  MillraceError,
  NotFound,
  QueueFull,
  RawJson,
  Unavailable,
  Unreachable,
  ValidationFailed,
  VersionConflict,
  WaitTimeout,
} from "@millrace/sdk";
import { Millrace as BrowserMillrace } from "@millrace/sdk/client";

import {
  answering,
  breaking,
  eventually,
  freePort,
  ownQueue,
  Server,
  sleep,
  strangeServer,
} from "./support.js";

const server = await Server.running();
const mr = new Millrace({ url: server.url });

describe("jobs", () => {
  test("are submitted, read, cancelled, retried and deleted", async () => {
    const queue = ownQueue();
    const greet = mr.job<{ name: string }>("greet", { queue, maxAttempts: 7 });
    const { job, isNew } = await greet.submit({ name: "Ada" }, { delay: 60_000, tags: ["vip"] });
    assert.equal(isNew, true);
    assert.deepEqual([job.state, job.maxAttempts, job.tags], ["scheduled", 7, ["vip"]]);
    const read = await mr.get<{ name: string }>(job.id, { include: ["payload"] });
    assert.equal(read.payload?.name, "Ada");
    const cancelled = await mr.cancel(job.id, { reason: "no need" });
    assert.equal(cancelled.state, "cancelled");
    await assert.rejects(mr.cancel(job.id), InvalidState);
    assert.equal((await greet.wait(job.id)).state, "cancelled");
    assert.equal(
      (await mr.retry(job.id, { runAt: new Date(Date.now() + 60_000) })).state,
      "scheduled",
    );
    await mr.delete(job.id);
    await assert.rejects(mr.get(job.id), NotFound);
  });

  test("are the same job if they have the same id, key or unique key", async () => {
    const queue = ownQueue();
    const work = mr.job<number>("work", { queue });
    const id = mr.makeId(queue);
    const first = await work.submit(1, { id });
    const again = await work.submit(1, { id });
    assert.deepEqual([first.isNew, again.isNew, again.job.id], [true, false, id]);
    await assert.rejects(work.submit(2, { id }), IdMismatch);
    const keyed = await work.submit(1, { idempotencyKey: "k" });
    assert.equal((await work.submit(1, { idempotencyKey: "k" })).job.id, keyed.job.id);
    await assert.rejects(work.submit(2, { idempotencyKey: "k" }), { code: "idempotency_mismatch" });
    const unique = { key: "u" };
    const holder = await work.submit(1, { unique });
    const second = await work.submit(1, { unique });
    assert.deepEqual([second.isNew, second.job.id], [false, holder.job.id]);
    await assert.rejects(
      work.submit(1, { unique: { ...unique, onConflict: "reject" } }),
      DuplicateJob,
    );
  });

  test("of a batch are accepted or refused each on its own", async () => {
    const work = mr.job("work", { queue: ownQueue() });
    const items = await mr.submitBatch([work.make(1), work.make(2, { priority: 1e6 })]);
    assert.deepEqual(
      items.map((item) => item.status),
      [201, 422],
    );
    assert.ok(items[1]?.error instanceof ValidationFailed);
    assert.equal(items[1].error.errors[0]?.where, "/priority");
    const jobs = [work.make(1), work.make(2, { priority: 1e6 })];
    await assert.rejects(mr.submitBatch(jobs, { atomic: true }), (error: ValidationFailed) => {
      assert.deepEqual([error.name, error.status], ["ValidationFailed", 422]);
      assert.equal(error.errors[0]?.where, "/jobs/1/priority");
      assert.match(error.requestId ?? "", /./);
      return true;
    });
  });

  test("are listed page after page", async () => {
    const queue = ownQueue();
    const work = mr.job<number>("work", { queue });
    await mr.submitBatch([1, 2, 3, 4, 5].map((n) => work.make(n)));
    const page = await mr.list({ queue, fresh: true }, { limit: 2 });
    assert.equal(page.items.length, 2);
    const payloads: unknown[] = [];
    const filter = { queue, type: "work", include: ["payload" as const] };
    for await (const job of mr.listAll(filter, { limit: 2 })) payloads.push(job.payload);
    assert.deepEqual(payloads, [5, 4, 3, 2, 1]);
    assert.deepEqual((await mr.list({ queue, state: ["dead", "expired"] })).items, []);
  });

  test("keep the digits and the bytes of their payloads", async () => {
    const exact = new Millrace({ url: server.url, json: exactJson });
    const { job } = await exact.submit({
      type: "big",
      queue: ownQueue(),
      payload: { n: 2n ** 63n },
    });
    assert.deepEqual((await exact.get(job.id, { include: ["payload"] })).payload, { n: 2n ** 63n });
    const raw = new RawJson('{ "n": 1.000 }');
    const { job: second } = await mr.submit({ type: "raw", queue: ownQueue(), payload: raw });
    const text = await (await fetch(`${server.url}/v1/jobs/${second.id}?include=payload`)).text();
    assert.ok(text.includes(raw.text));
    await assert.rejects(mr.submit({ type: "bad", payload: 1n }), TypeError);
  });

  test("that have not ended let a wait end", async () => {
    const { job } = await mr.submit({ type: "never", queue: ownQueue() });
    const began = performance.now();
    await assert.rejects(mr.wait(job.id, { timeout: 300 }), WaitTimeout);
    assert.ok(performance.now() - began >= 299);
    const stop = AbortSignal.timeout(100);
    await assert.rejects(mr.wait(job.id, { signal: stop }), { name: "TimeoutError" });
  });
});

test("queues", async () => {
  const name = `team/${ownQueue()}`;
  const made = await mr.putQueue(name, { lease: 2_000, retention: { dead: 1_000 } });
  assert.deepEqual([made.settings.lease, made.settings.retention.dead], [2_000, 1_000]);
  await assert.rejects(mr.patchQueue(name, {}, { ifMatch: made.version + 1 }), VersionConflict);
  const changed = await mr.patchQueue(name, { maxReady: 1 }, { ifMatch: made.version });
  assert.deepEqual([changed.settings.maxReady, changed.settings.lease], [1, 2_000]);
  assert.equal((await mr.pauseQueue(name, { reason: "dinner" })).pauseReason, "dinner");
  assert.equal((await mr.resumeQueue(name)).paused, false);
  assert.equal((await mr.queue(name)).name, name);
  assert.ok((await mr.queues({ limit: 1_000 })).items.some((queue) => queue.name === name));
  await mr.submit({ type: "one", queue: name });
  // On a slow machine the answer may come too late.
  const second = () => mr.submit({ type: "two", queue: name }, { timeout: 500 });
  await eventually(async () => {
    const refusal: unknown = await second().catch((error: unknown) => error);
    assert.ok(refusal instanceof MillraceError, "it is submitted");
    return refusal instanceof QueueFull;
  });
  await assert.rejects(mr.deleteQueue(name), InvalidState);
  await mr.deleteQueue(name, { force: true });
  await assert.rejects(mr.queue(name), NotFound);
});

test("schedules", async () => {
  const spec = { every: 3_600_000, jitter: 5, job: { type: "tick", payload: { maxAttempts: 1 } } };
  const made = await mr.putSchedule("tick", { ...spec, startAt: new Date(0) });
  assert.deepEqual([made.every, made.jitter, made.job.payload], [3_600_000, 5, { maxAttempts: 1 }]);
  assert.equal((await mr.schedule("tick")).version, made.version);
  assert.equal((await mr.pauseSchedule("tick", { reason: "why" })).reason, "why");
  assert.equal((await mr.resumeSchedule("tick")).state, "active");
  const job = await mr.triggerSchedule("tick", { scheduledAt: "2030-01-01T00:00:00Z" });
  assert.deepEqual(job.schedule, { name: "tick", scheduledAt: "2030-01-01T00:00:00.000Z" });
  assert.deepEqual(
    (await mr.scheduleRuns("tick")).map((run) => run.jobId),
    [job.id],
  );
  const range = { from: new Date(Date.now() - 7_200_000), to: new Date(), dryRun: true };
  assert.equal((await mr.backfillSchedule("tick", range)).submitted, 2);
  const preview = await mr.previewSchedule({
    cron: "@daily",
    from: "2030-01-01T12:00:00Z",
    count: 1,
  });
  assert.deepEqual(preview.next, ["2030-01-02T00:00:00.000Z"]);
  const set = { managedBy: "team", schedules: { "Own.Name": spec } };
  assert.deepEqual((await mr.applySchedules(set)).created, ["Own.Name"]);
  const owned = await mr.schedules({ managedBy: "team" });
  assert.deepEqual(
    owned.items.map((schedule) => schedule.name),
    ["Own.Name"],
  );
  await mr.deleteSchedule("tick");
  await assert.rejects(mr.schedule("tick"), NotFound);
});

describe("connections", () => {
  function counting(): { agent: http.Agent; opened: () => number } {
    const agent = new http.Agent({ keepAlive: true });
    const create = agent.createConnection.bind(agent);
    let count = 0;
    agent.createConnection = (...args: Parameters<typeof create>) => {
      count++;
      return create(...args);
    };
    return { agent, opened: () => count };
  }

  test("100 calls in a row use one", async () => {
    const { agent, opened } = counting();
    const client = new Millrace({ url: server.url, agent });
    for (let i = 0; i < 100; i++) await client.queues();
    assert.equal(opened(), 1);
  });

  test("two calls that wait hold up no other", async () => {
    const { job } = await mr.submit({ type: "never", queue: ownQueue() });
    const stop = new AbortController();
    let ended = 0;
    const waits = [1, 2].map(() =>
      assert.rejects(mr.wait(job.id, { signal: stop.signal }), /enough/).then(() => ended++),
    );
    await sleep(100);
    await mr.queues();
    assert.equal(ended, 0);
    stop.abort(new Error("enough"));
    await Promise.all(waits);
  });

  test("a client does not keep its process alive", async () => {
    const { execFile } = await import("node:child_process");
    const { promisify } = await import("node:util");
    const program = `
      import { Millrace } from "@millrace/sdk";
      await new Millrace({ url: "${server.url}" }).queues();
      process.stdout.write("done");`;
    const run = promisify(execFile);
    const cwd = new URL("../..", import.meta.url).pathname;
    const args = ["--input-type=module", "-e", program];
    const { stdout } = await run(process.execPath, args, { cwd, timeout: 40_000 });
    assert.equal(stdout, "done");
  });
});

describe("tries", () => {
  const draining = { status: 503, code: "draining", detail: "the server is stopping" };

  test("a submission is sent again, the same one, and Retry-After is honoured", async () => {
    const { url, seen } = await strangeServer(
      breaking,
      answering(503, draining, { "retry-after": "1" }),
      answering(502, "<html>"),
      answering(201, { id: "x", state: "ready" }),
    );
    const began = performance.now();
    await new Millrace({ url }).submit({ type: "t" });
    assert.equal(seen.length, 4);
    assert.ok(performance.now() - began >= 1_000);
  });

  test("a call fails with its last error once the deadline is near", async () => {
    const { url, seen } = await strangeServer(answering(503, draining, { "retry-after": "60" }));
    const began = performance.now();
    await assert.rejects(new Millrace({ url, timeout: 30_000 }).queues(), (error: Unavailable) => {
      assert.deepEqual(
        [error.name, error.code, error.retryAfter],
        ["Unavailable", "draining", 60_000],
      );
      return error instanceof Unavailable;
    });
    assert.equal(seen.length, 1);
    assert.ok(performance.now() - began < 20_000);
  });

  test("what may have begun is not repeated", async () => {
    const { url, seen } = await strangeServer(breaking);
    const client = new Millrace({ url });
    await assert.rejects(client.retry("x"), Unreachable);
    await assert.rejects(client.patchQueue("q", {}), Unreachable);
    assert.equal(seen.length, 2);
  });

  test("a deletion that was tried before and finds nothing has succeeded", async () => {
    const missing = answering(404, { code: "not_found", status: 404 });
    const { url } = await strangeServer(breaking, missing);
    await new Millrace({ url }).delete("x");
    await assert.rejects(new Millrace({ url }).delete("x"), NotFound);
  });

  test("nobody listens", async () => {
    const client = new Millrace({ url: `http://127.0.0.1:${await freePort()}`, timeout: 300 });
    await eventually(async () => {
      const error: unknown = await client.queues().catch((fault: unknown) => fault);
      assert.ok(error instanceof Unreachable);
      assert.equal(error.code, "unreachable");
      return !error.mayHaveBegun; // the last try may have had too little time to find out
    });
  });

  test("an answer that does not come, or is cut off", async () => {
    const { url } = await strangeServer(() => undefined);
    await assert.rejects(new Millrace({ url, timeout: 200 }).queues(), /did not answer within/);
    const { url: other } = await strangeServer((request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("{", () => request.socket.destroy());
    });
    await assert.rejects(new Millrace({ url: other, timeout: 300 }).queues(), Unreachable);
  });

  test("an answer that is not Millrace's", async () => {
    const { url } = await strangeServer((_, response) =>
      response.writeHead(200).end("<html>hello"),
    );
    await assert.rejects(new Millrace({ url }).queues(), { code: "bad_answer", status: 200 });
    const { url: other } = await strangeServer((_, response) => response.writeHead(418).end());
    await assert.rejects(new Millrace({ url: other }).queues(), MillraceError);
  });

  test("the application's signal ends a call", async () => {
    const { url } = await strangeServer(() => undefined);
    for (const client of [new Millrace({ url }), new BrowserMillrace({ url })]) {
      const stop = new AbortController();
      const call = client.queues({ signal: stop.signal });
      setTimeout(() => stop.abort(new Error("enough")), 50);
      await assert.rejects(call, /enough/);
    }
  });
});

test("the trace context of the application goes with submissions", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const client = new Millrace({ url: server.url, traceContext: () => ({ traceparent }) });
  const queue = ownQueue();
  assert.equal((await client.submit({ type: "t", queue })).job.traceparent, traceparent);
  const own = traceparent.replace("0af7", "1111");
  const { job } = await client.submit({ type: "t", queue, traceparent: own });
  assert.equal(job.traceparent, own);
  const [item] = await client.submitBatch([{ type: "t", queue }]);
  assert.equal((await client.get(item?.id ?? "")).traceparent, traceparent);
});

test("the client for browsers does the same by fetch", async () => {
  const client = new BrowserMillrace({ url: `${server.url}/` });
  const queue = ownQueue();
  const { job } = await client.submit({ type: "web", queue, payload: [1] });
  assert.equal((await client.get(job.id)).queue, queue);
  await assert.rejects(client.get("nope"), NotFound);
  await assert.rejects(client.wait(job.id, { timeout: 200 }), WaitTimeout);
  const nobody = new BrowserMillrace({ url: `http://127.0.0.1:${await freePort()}`, timeout: 200 });
  await assert.rejects(nobody.queues(), Unreachable);
  const { url } = await strangeServer(() => undefined);
  await assert.rejects(
    new BrowserMillrace({ url, timeout: 200 }).queues(),
    /did not answer within/,
  );
});
