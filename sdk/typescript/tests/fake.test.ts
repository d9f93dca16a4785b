import assert from "node:assert/strict";
import test, { describe } from "node:test";

import {
  DuplicateJob,
  exactJson,
  Fake,
  IdMismatch,
  InvalidState,
  Millrace,
  NonRetryable,
  NotFound,
  QueueFull,
  snooze,
  ValidationFailed,
  WaitTimeout,
  type Middleware,
} from "@millrace/sdk";

const boom = (): never => {
  throw new Error("boom");
};

test("a job says what it must pass", async () => {
  const fake = new Fake();
  await fake.putLimit("api", { rate: { limit: 5, per: 1_000 } });
  const work = fake.job<string>("work");
  await work.submit("a", { limits: [{ name: "api", cost: 2 }], orderKey: "o", fairKey: "acme" });
  for (const wrong of [
    { limits: Array.from({ length: 9 }, () => ({ name: "api" })) },
    { limits: [{ name: "" }] },
    { orderKey: "" },
    { fairKey: "k".repeat(129) },
    { orderKey: "o", orderOnFailure: "wait" as "hold" },
  ]) {
    await assert.rejects(work.submit("b", wrong), ValidationFailed);
  }
});

describe("drained", () => {
  test("jobs wait for drain, which runs them in order of priority and age", async () => {
    const fake = new Fake();
    const work = fake.job<string>("work");
    const order: string[] = [];
    fake.on(work, (payload, ctx) => {
      order.push(payload);
      if (payload === "first") ctx.enqueue(work.make("child", { priority: -1 }));
      if (payload === "second") return work.submit("grandchild");
    });
    await work.submit("second");
    await work.submit("third");
    await work.submit("first", { priority: -5 });
    await work.submit("later", { delay: 1_000 });
    assert.deepEqual(order, []);
    assert.equal(await fake.drain(), 5);
    assert.deepEqual(order, ["first", "child", "second", "third", "grandchild"]);
    fake.advance(999);
    assert.equal(await fake.drain(), 0);
    fake.advance(1);
    assert.equal(await fake.drain(), 1);
    assert.equal(fake.now.toISOString(), "2030-01-01T00:00:01.000Z");
  });

  test("failures are retried by their policy, without jitter, until the job is dead", async () => {
    const fake = new Fake();
    const { job } = await fake.submit({ type: "fail", maxAttempts: 3 });
    fake.on("fail", boom);
    assert.equal(await fake.drain(), 1);
    const retrying = await fake.get(job.id);
    assert.deepEqual([retrying.state, retrying.runAt], ["retrying", "2030-01-01T00:00:05.000Z"]);
    assert.deepEqual([retrying.lastError?.type, retrying.lastError?.message], ["Error", "boom"]);
    fake.advance(5_000);
    assert.equal(await fake.drain(), 1);
    fake.advance(9_999);
    assert.equal(await fake.drain(), 0);
    fake.advance(1);
    assert.equal(await fake.drain(), 1);
    assert.equal((await fake.wait(job.id)).state, "dead");
    const again = await fake.retry(job.id);
    assert.deepEqual([again.state, again.attempt, again.generation], ["ready", 0, 2]);
    const list = { strategy: "list", delays: [7, 9] } as const;
    await fake.submit({
      type: "fail",
      retry: { ...list, delays: [...list.delays] },
      id: fake.makeId(),
    });
    assert.equal(await fake.drain(), 2);
    fake.advance(7);
    assert.equal(await fake.drain(), 1);
  });

  test("snoozes cost no attempt, and a checkpoint is found again", async () => {
    const fake = new Fake();
    const { job } = await fake.submit({ type: "poll" });
    fake.on("poll", (_, ctx) => {
      const count = ((ctx.job.checkpoint as number) ?? 0) + 1;
      ctx.progress(count * 10, `round ${count}`, count);
      ctx.log.warn("round", count);
      return count < 3 ? snooze(60_000) : `after ${count} rounds in attempt ${ctx.job.attempt}`;
    });
    for (let i = 0; i < 3; i++) {
      assert.equal(await fake.drain(), 1);
      fake.advance(60_000);
    }
    const ended = await fake.wait(job.id);
    assert.deepEqual([ended.result, ended.progress?.percent], ["after 3 rounds in attempt 1", 30]);
    const { items } = await fake.logs(job.id);
    assert.deepEqual(
      items.map((line) => `${line.level} ${line.message}`),
      ["warn round 1", "warn round 2", "warn round 3"],
    );
  });

  test("a job that does not begin in time expires", async () => {
    const fake = new Fake();
    fake.on("otp", boom);
    const { job } = await fake.submit({ type: "otp", expiresIn: 50 });
    fake.advance(50);
    assert.equal(await fake.drain(), 0);
    assert.equal((await fake.get(job.id)).state, "expired");
  });

  test("a refused job of ctx.enqueue fails the attempt", async () => {
    const fake = new Fake();
    fake.on("parent", (_, ctx) => ctx.enqueue({ type: "not a name" }));
    const { job } = await fake.submit({ type: "parent", maxAttempts: 1 });
    await fake.drain();
    assert.equal((await fake.get(job.id)).lastError?.type, "outcome_refused");
    assert.equal(fake.enqueued().length, 1);
  });
});

test("inline, a job that is due runs within its submission", async () => {
  const fake = new Fake({ mode: "inline" });
  const seen: string[] = [];
  fake.on("outer", async (_, ctx) => {
    await fake.submit({ type: "inner", payload: "submitted" });
    ctx.enqueue({ type: "inner", payload: "enqueued" });
    seen.push("outer");
  });
  fake.on("inner", (payload) => seen.push(payload as string));
  const { job, isNew } = await fake.submit({ type: "outer" });
  assert.deepEqual([job.state, isNew], ["succeeded", true]);
  assert.deepEqual(seen, ["submitted", "outer", "enqueued"]);
  const { job: delayed } = await fake.submit({ type: "inner", delay: 10 });
  assert.equal(delayed.state, "scheduled");
  assert.equal((await fake.submit({ type: "nobody" })).job.state, "ready");
});

describe("once only", () => {
  test("ids, idempotency keys and unique keys are kept", async () => {
    const fake = new Fake();
    const id = fake.makeId();
    const first = await fake.submit({ type: "t", id, payload: { a: 1 } });
    const again = await fake.submit({ type: "t", id, payload: { a: 1 } });
    assert.deepEqual([first.isNew, again.isNew, again.job.id], [true, false, id]);
    await assert.rejects(fake.submit({ type: "t", id, payload: { a: 2 } }), IdMismatch);
    await assert.rejects(fake.submit({ type: "t", id, queue: "other" }), DuplicateJob);

    const keyed = await fake.submit({ type: "t", idempotencyKey: "k" });
    assert.equal((await fake.submit({ type: "t", idempotencyKey: "k" })).job.id, keyed.job.id);
    const mismatch = fake.submit({ type: "u", idempotencyKey: "k" });
    await assert.rejects(mismatch, { code: "idempotency_mismatch", status: 422 });
    fake.advance(86_400_000);
    assert.equal((await fake.submit({ type: "t", idempotencyKey: "k" })).isNew, true);

    const unique = { key: "report" };
    const holder = await fake.submit({ type: "t", unique });
    assert.equal((await fake.submit({ type: "t", unique })).job.id, holder.job.id);
    const reject = { ...unique, onConflict: "reject" as const };
    await assert.rejects(fake.submit({ type: "t", unique: reject }), DuplicateJob);
    const replace = { ...unique, onConflict: "replace" as const };
    assert.equal((await fake.submit({ type: "t", unique: replace })).isNew, true);
    assert.equal((await fake.get(holder.job.id)).state, "cancelled");
  });

  test("batches accept each job on its own, or all or none", async () => {
    const fake = new Fake();
    const items = await fake.submitBatch([{ type: "a" }, { type: "b", priority: 1e6 }]);
    assert.deepEqual(
      items.map((item) => [item.status, item.error?.name]),
      [
        [201, undefined],
        [422, "ValidationFailed"],
      ],
    );
    const bad = fake.submitBatch([{ type: "c" }, { type: "d", delay: -1 }], { atomic: true });
    await assert.rejects(
      bad,
      (error: ValidationFailed) => error.errors[0]?.where === "/jobs/1/delay_ms",
    );
    assert.deepEqual(
      fake.enqueued().map((job) => job.type),
      ["a"],
    );
  });
});

test("jobs are found, listed and cancelled", async () => {
  const fake = new Fake();
  const mail = fake.job<{ to: string }>("mail", { queue: "mail", tags: ["vip"] });
  for (const to of ["a", "b", "c"]) await mail.submit({ to });
  await fake.submit({ type: "other" });
  assert.deepEqual(
    fake.enqueued(mail).map((job) => job.payload.to),
    ["a", "b", "c"],
  );
  const page = await fake.list({ queue: "mail", include: ["payload"] }, { limit: 2 });
  assert.deepEqual(
    page.items.map((job) => (job.payload as { to: string }).to),
    ["c", "b"],
  );
  const ids: string[] = [];
  for await (const job of fake.listAll({ tag: "vip", state: "ready" }, { limit: 1 }))
    ids.push(job.id);
  assert.equal(ids.length, 3);
  assert.equal((await fake.cancel(ids[0] ?? "")).state, "cancelled");
  await assert.rejects(fake.cancel(ids[0] ?? ""), InvalidState);
  await assert.rejects(fake.retry(ids[1] ?? ""), InvalidState);
  await assert.rejects(fake.get("nope"), NotFound);
  await assert.rejects(fake.wait(ids[1] ?? ""), WaitTimeout);
  await assert.rejects(fake.pauseQueue("q"), { code: "not_in_fake" });
  await assert.rejects(fake.submit({ type: "t", prioritty: 1 } as never), ValidationFailed);
  await assert.rejects(fake.submit({ type: "t", payload: "x".repeat(2 << 20) }), {
    code: "payload_too_large",
  });
});

test("what an application declares at its start is kept, and the settings of a queue count", async () => {
  const fake = new Fake();
  const retry = { strategy: "fixed", base: 10 } as const;
  await fake.putQueue("q", { maxAttempts: 2, retry, lease: 5_000, maxReady: 1 });
  const made = await fake.patchQueue("q", { maxAttempts: 3 }, { create: true });
  await assert.rejects(fake.patchQueue("none", { maxAttempts: 3 }), NotFound);
  assert.deepEqual([made.settings.maxAttempts, made.settings.lease], [3, 5_000]);
  const { job } = await fake.submit({ type: "fail", queue: "q" });
  assert.deepEqual([job.maxAttempts, job.lease, job.retry?.strategy], [3, 5_000, "fixed"]);
  await assert.rejects(fake.submit({ type: "fail", queue: "q" }), QueueFull);
  fake.on("fail", boom);
  await fake.drain();
  assert.equal((await fake.get(job.id)).runAt, "2030-01-01T00:00:00.010Z");

  await fake.putLimit("api", { concurrency: 2 });
  assert.equal((await fake.limit("api")).concurrency, 2);
  const tick = { every: 60_000, job: { type: "tick", payload: { n: 1 } } };
  const set = { managedBy: "me", prune: true, schedules: { tick, tock: tick } };
  assert.deepEqual((await fake.applySchedules(set)).created, ["tick", "tock"]);
  const changes = await fake.applySchedules({ ...set, schedules: { tick } });
  assert.deepEqual([changes.unchanged, changes.deleted], [["tick"], ["tock"]]);
  assert.equal((await fake.schedules({ managedBy: "me" })).items[0]?.every, 60_000);
  await fake.triggerSchedule("tick");
  assert.deepEqual(fake.enqueued("tick")[0]?.payload, { n: 1 });
  await fake.deleteSchedule("tick");
  await assert.rejects(fake.triggerSchedule("tick"), NotFound);
});

test("a running job that is cancelled is told", async () => {
  const fake = new Fake();
  fake.on("long", async (_, ctx) => {
    await fake.cancel(ctx.job.id);
    ctx.signal.throwIfAborted();
  });
  const { job } = await fake.submit({ type: "long" });
  await fake.drain();
  assert.equal((await fake.get(job.id)).state, "cancelled");
});

test("middleware, traces and codecs are those of a worker", async () => {
  const fake = new Fake({ json: exactJson });
  const phases: string[] = [];
  const note: Middleware = async (_, next) => {
    phases.push("before");
    const value = await next();
    phases.push("after");
    return value;
  };
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  fake.use(note).on("t", async (payload: any, ctx) => {
    await fake.submit({ type: "inner" });
    return [payload.n + 1n, ctx.job.payloadText];
  });
  const payload = { n: 9007199254740993n };
  const { job } = await fake.submit({ type: "t", payload, traceparent });
  await fake.drain();
  assert.deepEqual((await fake.wait(job.id)).result, [9007199254740994n, '{"n":9007199254740993}']);
  assert.deepEqual(phases, ["before", "after"]);
  assert.equal(fake.enqueued("inner")[0]?.traceparent, traceparent);
});

test("the fake answers for a client of the code under test", async () => {
  const client = new Millrace({ url: "http://127.0.0.1:9", timeout: 100 });
  const fake = new Fake();
  const restore = fake.answerFor(client);
  await client.job("t").submit({ a: 1 });
  assert.deepEqual(fake.enqueued("t")[0]?.payload, { a: 1 });
  restore();
  await assert.rejects(client.submit({ type: "t" }), { code: "unreachable" });
  assert.throws(() => fake.worker(), /drain/);
});

test("jobs that make jobs for ever end a drain", async () => {
  const fake = new Fake();
  fake.on("loop", (_, ctx) => {
    if (ctx.token > 300) throw new NonRetryable("enough for a test");
    ctx.enqueue({ type: "loop" });
  });
  await fake.submit({ type: "loop" });
  assert.equal(await fake.drain(), 301);
});
