import assert from "node:assert/strict";
import test, { describe } from "node:test";

import {
  cancel,
  currentContext,
  exactJson,
  Millrace,
  NonRetryable,
  retryAfter,
  snooze,
  Stopped,
  Unauthenticated,
  type Context,
  type WorkerOptions,
} from "@millrace/sdk";

import { answering, eventually, ownQueue, Server, sleep, strangeServer } from "./support.js";

const server = await Server.running();
const mr = new Millrace({ url: server.url });
const FIXED = { strategy: "fixed", base: 10, jitter: 0 } as const;
const silent = { info: () => undefined, warn: () => undefined };

/** A job type with its own queue, and a worker for it that ends with the test. */
function setUp<Payload = any, Result = any>(t: test.TestContext, options: WorkerOptions = {}) {
  const queue = ownQueue();
  const job = mr.job<Payload, Result>("work", { queue, retry: FIXED });
  const worker = mr.worker({ queues: [queue], pollWait: 1_000, logger: silent, ...options });
  t.after(() => worker.stop().catch(() => undefined));
  return { queue, job, worker };
}

test("each failed attempt is logged", async (t) => {
  const warnings: string[] = [];
  const logger = { ...silent, warn: (message: string) => void warnings.push(message) };
  const { job, worker } = setUp(t, { logger });
  worker
    .on(job, () => {
      throw new RangeError("no luck");
    })
    .start();
  const { job: sent } = await job.submit(null, { maxAttempts: 2 });
  await job.wait(sent.id);
  const said = (attempt: number) =>
    `millrace: job ${sent.id} (work): attempt ${attempt} of 2 failed: RangeError: no luck; `;
  assert.deepEqual(warnings, [`${said(1)}the server tries it again`, `${said(2)}the job is dead`]);
});

describe("the version of the program", () => {
  const told = async (t: test.TestContext, options: WorkerOptions): Promise<unknown> => {
    const { job, worker } = setUp(t, options);
    worker.on(job, () => null).start();
    for (;;) {
      const answer = await fetch(`${server.url}/v1/workers`);
      const { items } = (await answer.json()) as { items: { id: string; version: unknown }[] };
      const listed = items.find((each) => each.id === worker.id);
      if (listed) return listed.version;
      await sleep(10);
    }
  };

  test("is the option, else the variable, else none", async (t) => {
    delete process.env["MILLRACE_WORKER_VERSION"];
    assert.equal(await told(t, {}), null);
    process.env["MILLRACE_WORKER_VERSION"] = "2.4.0";
    t.after(() => delete process.env["MILLRACE_WORKER_VERSION"]);
    assert.equal(await told(t, {}), "2.4.0");
    assert.equal(await told(t, { version: "2.4.1" }), "2.4.1");
  });
});

describe("outcomes", () => {
  test("a returned value is the result", async (t) => {
    const { job, worker } = setUp<{ n: number }, { twice: number }>(t);
    worker.on(job, async ({ n }) => ({ twice: 2 * n })).start();
    const { job: sent } = await job.submit({ n: 21 });
    const ended = await job.wait(sent.id);
    assert.deepEqual([ended.state, ended.result?.twice], ["succeeded", 42]);
  });

  test("what is thrown tells its class, message, stack and cause", async (t) => {
    class OutOfPaper extends TypeError {}
    const { job, worker } = setUp(t);
    worker
      .on(job, () => {
        throw new OutOfPaper("tray 2", { cause: new Error("jammed") });
      })
      .start();
    const { job: sent } = await job.submit(null, { maxAttempts: 1 });
    const { state, lastError } = await job.wait(sent.id);
    assert.deepEqual(
      [state, lastError?.type, lastError?.message],
      ["dead", "OutOfPaper", "tray 2"],
    );
    assert.match(lastError?.stack ?? "", /worker\.test[^]*caused by: Error: jammed/);
  });

  test("the endings", async (t) => {
    const { job, worker } = setUp<string>(t);
    const seen: string[] = [];
    worker
      .on(job, (payload, ctx) => {
        seen.push(`${payload} ${ctx.job.attempt}`);
        if (payload === "dead") throw new NonRetryable("never");
        if (payload === "cancel") return cancel("the order is gone");
        if (payload === "later" && ctx.job.attempt === 1) return retryAfter(50, "busy");
        if (payload === "snooze" && !ctx.job.checkpoint) {
          ctx.progress(1, "once", { seen: true });
          throw snooze(50);
        }
        return ctx.job.checkpoint ?? "done";
      })
      .start();
    const ends = async (payload: string) => {
      const { job: sent } = await job.submit(payload);
      return job.wait(sent.id);
    };
    const dead = await ends("dead");
    assert.deepEqual([dead.state, dead.lastError?.type], ["dead", "NonRetryable"]);
    const cancelled = await ends("cancel");
    assert.equal(cancelled.state, "cancelled");
    const { items } = await mr.logs(cancelled.id);
    assert.deepEqual(
      items.map((line) => line.message),
      ["the order is gone"],
    );
    assert.deepEqual((await ends("later")).attempt, 2);
    const snoozed = await ends("snooze");
    assert.deepEqual([snoozed.attempt, snoozed.result], [1, { seen: true }]);
    assert.equal(seen.length, 6);
  });

  test("a result that is no JSON or too large fails the attempt", async (t) => {
    const { job, worker } = setUp<string>(t);
    const results: Record<string, unknown> = { nan: NaN, big: "x".repeat(2 << 20), fn: () => 1 };
    worker.on(job, (payload) => results[payload]).start();
    for (const payload of Object.keys(results)) {
      const { job: sent } = await job.submit(payload, { maxAttempts: 1 });
      const ended = await job.wait(sent.id);
      assert.deepEqual([ended.state, ended.lastError?.type], ["dead", "outcome_refused"], payload);
    }
  });

  test("jobs of ctx.enqueue come with a success alone", async (t) => {
    const { job, worker, queue } = setUp<string>(t);
    const next = mr.job("next", { queue, delay: 60_000 });
    worker
      .on(job, (payload, ctx) => {
        ctx.enqueue(next.make(payload));
        assert.throws(() => ctx.enqueue(next.make(() => 1)), TypeError);
        if (payload === "bad") throw new Error("no");
      })
      .start();
    for (const payload of ["good", "bad"]) {
      const { job: sent } = await job.submit(payload, { maxAttempts: 1 });
      await job.wait(sent.id);
    }
    const { items } = await mr.list({ queue, type: "next", fresh: true, include: ["payload"] });
    assert.deepEqual(
      items.map((item) => item.payload),
      ["good"],
    );
  });
});

describe("what a handler is told", () => {
  test("a cancelled job's handler ends by its signal", async (t) => {
    const { job, worker } = setUp(t);
    let ctx: Context | undefined;
    worker
      .on(job, async (_, given) => {
        ctx = given;
        await sleep(60_000, undefined, { signal: given.signal });
      })
      .start();
    const { job: sent } = await job.submit(null);
    await eventually(() => ctx);
    await mr.cancel(sent.id);
    assert.equal((await job.wait(sent.id)).state, "cancelled");
    assert.equal(ctx?.stopReason, "cancelled");
    assert.ok(ctx.signal.reason instanceof Stopped);
  });

  test("an attempt's time is over", async (t) => {
    const { job, worker } = setUp(t);
    const told: unknown[] = [];
    worker
      .on(job, async (_, ctx) => {
        ctx.signal.addEventListener("abort", () => told.push(ctx.stopReason));
        await sleep(10_000, undefined, { signal: ctx.signal });
      })
      .start();
    const { job: sent } = await job.submit(null, { timeout: 300, maxAttempts: 1 });
    const ended = await job.wait(sent.id);
    assert.deepEqual([ended.state, ended.lastError?.type], ["dead", "timeout"]);
    await eventually(() => told.length);
    assert.deepEqual(told, ["timeout"]);
  });

  test("a handler that keeps the thread keeps its lease, and sees what it is told", async (t) => {
    const { job, worker } = setUp(t);
    const begun = new Promise<void>((resolve) => {
      worker.on(job, async (_, ctx) => {
        resolve();
        await sleep(50); // so that this test can cancel the job below
        const since = performance.now();
        let saw: unknown;
        while (performance.now() < since + 60_000 && !saw) saw = ctx.stopReason;
        return { saw, tookMoreThanLease: performance.now() - since > 5_000 };
      });
    });
    worker.start();
    const { job: sent } = await job.submit(null, { lease: 5_000 });
    await begun;
    // The test's own thread is blocked, too, so the server's command line cancels the job.
    const { spawn } = await import("node:child_process");
    const program = `sleep 6.5; curl -s -X POST ${server.url}/v1/jobs/${sent.id}/cancel`;
    spawn("sh", ["-c", program], { stdio: "ignore" });
    const ended = await job.wait(sent.id);
    assert.deepEqual(ended.result, { saw: "cancelled", tookMoreThanLease: true });
    assert.deepEqual([ended.state, ended.attempt, ended.crashes], ["succeeded", 1, 0]);
  });
});

describe("what is kept of a job", () => {
  test("lines of ctx.log and of console, and progress", async (t) => {
    const { job, worker } = setUp(t, { captureConsole: true });
    const write = process.stdout.write;
    t.after(() => (process.stdout.write = write));
    worker
      .on(job, async (_, ctx) => {
        ctx.log.info("from %s", "ctx", { n: 1 });
        await sleep(1);
        process.stdout.write = () => true;
        console.log("from console");
        process.stdout.write = write;
        ctx.progress(150, "x".repeat(2_000));
        await eventually(async () => (await mr.get(ctx.job.id)).progress);
        await eventually(async () => (await mr.logs(ctx.job.id)).items.length === 2);
        ctx.log.error("the last");
      })
      .start();
    const { job: sent } = await job.submit(null);
    const ended = await job.wait(sent.id);
    assert.deepEqual([ended.state, ended.progress?.percent], ["succeeded", 100]);
    assert.equal(ended.progress?.message?.length, 1_024);
    const { items } = await mr.logs(sent.id);
    assert.deepEqual(
      items.map(({ level, message }) => `${level} ${message}`),
      ["info from ctx { n: 1 }", "info from console", "error the last"],
    );
  });

  test("a progress that the server would refuse is refused at once", async (t) => {
    const { job, worker } = setUp(t);
    worker
      .on(job, (_, ctx) => {
        assert.throws(() => ctx.progress(1, "", "x".repeat(65 << 10)), RangeError);
        assert.throws(() => ctx.progress(1, "", 1n), TypeError);
        return "fine";
      })
      .start();
    const { job: sent } = await job.submit(null);
    assert.equal((await job.wait(sent.id)).result, "fine");
  });
});

test("a handler sees its job, byte for byte, and its context is the current one", async (t) => {
  const queue = ownQueue();
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  for (const json of [undefined, exactJson]) {
    const client = new Millrace({ url: server.url, json });
    const worker = client
      .worker({ queues: [queue], logger: silent })
      .on("see", async (payload, ctx) => {
        await sleep(1);
        assert.equal(currentContext(), ctx);
        const { job: inner } = await client.submit({ type: "inner", queue, delay: 60_000 });
        assert.equal(inner.traceparent, traceparent);
        const { meta, tags, attempt, maxAttempts } = ctx.job;
        return {
          text: ctx.job.payloadText,
          kind: typeof (payload as any).n,
          meta,
          tags,
          attempt,
          maxAttempts,
        };
      });
    worker.start();
    t.after(() => worker.stop());
    const body = `{"type":"see","queue":"${queue}","payload":{ "n":12345678901234567890 },
      "meta":{"tenant":"acme"},"tags":["a"],"traceparent":"${traceparent}","max_attempts":3}`;
    const headers = { "content-type": "application/json" };
    const sent = await fetch(`${server.url}/v1/jobs`, { method: "POST", body, headers });
    const ended = await client.wait(((await sent.json()) as { id: string }).id);
    assert.deepEqual(ended.result, {
      text: '{ "n":12345678901234567890 }',
      kind: json ? "bigint" : "number",
      meta: { tenant: "acme" },
      tags: ["a"],
      attempt: 1,
      maxAttempts: 3,
    });
    await worker.stop();
  }
});

test("middleware wraps handlers, and may change what they end with", async (t) => {
  const { job, worker } = setUp<string>(t);
  const order: string[] = [];
  worker
    .use(async (ctx, next) => {
      order.push("outer");
      const value = await next();
      return ctx.job.payload === "change" ? "changed" : value;
    })
    .use(async (_, next) => {
      order.push("inner");
      try {
        return await next();
      } catch {
        return "mended";
      }
    })
    .on(job, (payload) => {
      order.push("handler");
      if (payload === "fail") throw new Error("no");
      return payload;
    })
    .start();
  for (const [payload, result] of [
    ["same", "same"],
    ["change", "changed"],
    ["fail", "mended"],
  ] as const) {
    const { job: sent } = await job.submit(payload);
    assert.equal((await job.wait(sent.id)).result, result);
  }
  assert.deepEqual(order.slice(0, 3), ["outer", "inner", "handler"]);
});

test("no more handlers than `concurrency` run at a time", async (t) => {
  const { job, worker } = setUp<number>(t, { concurrency: 3 });
  let now = 0;
  let most = 0;
  worker
    .on(job, async () => {
      most = Math.max(most, ++now);
      await sleep(5);
      now--;
    })
    .start();
  const items = await mr.submitBatch(Array.from({ length: 50 }, (_, n) => job.make(n)));
  for (const { id } of items) assert.equal((await job.wait(id ?? "")).state, "succeeded");
  assert.equal(most, 3);
});

describe("the end", () => {
  test("a stop lets handlers finish, and says goodbye", async (t) => {
    const { job, worker } = setUp(t, { pollWait: 30_000 });
    let ctx: Context | undefined;
    worker
      .on(job, async (_, given) => {
        ctx = given;
        while (!given.stopping) await sleep(5);
        await sleep(100);
        return "finished";
      })
      .start();
    const { job: sent } = await job.submit(null);
    await eventually(() => ctx);
    await worker.stop();
    const ended = await mr.get(sent.id, { include: ["result"] });
    assert.deepEqual(
      [ended.state, ended.result, ctx?.stopReason],
      ["succeeded", "finished", undefined],
    );
    const listed = (await (await fetch(`${server.url}/v1/workers?limit=1000`)).json()) as any;
    assert.ok(!listed.items.some((each: { id: string }) => each.id === worker.id));
  });

  test("what runs on after the grace time is told, then given back", async (t) => {
    const { job, worker } = setUp<string>(t, { grace: 200 });
    let begun = 0;
    worker
      .on(job, async (payload, ctx) => {
        begun++;
        const told = payload === "obeys" ? { signal: ctx.signal } : {};
        await sleep(60_000, undefined, { ref: false, ...told });
      })
      .start();
    const sent = [await job.submit("obeys"), await job.submit("does not")];
    await eventually(() => begun === 2);
    const began = performance.now();
    await worker.stop();
    assert.ok(performance.now() - began < 30_000);
    for (const { job: each } of sent) {
      const { state, attempt } = await mr.get(each.id);
      assert.deepEqual([state, attempt], ["ready", 0]);
    }
  });

  test("the server's word ends a worker, or its claims", async (t) => {
    const { job, worker } = setUp(t);
    worker.on(job, () => 1).start();
    await job.wait((await job.submit(null)).job.id);
    const command = (word: string) =>
      fetch(`${server.url}/v1/workers/${worker.id}/${word}`, { method: "POST" });
    assert.equal((await command("quiet")).status, 200);
    await sleep(1_200);
    const { job: left } = await job.submit(null);
    await sleep(300);
    assert.equal((await mr.get(left.id)).state, "ready");
    await command("stop");
    await worker.ended;
  });

  test("a refusal that time does not cure ends it", async () => {
    const { url } = await strangeServer(
      answering(401, { code: "unauthenticated", status: 401, detail: "no token" }),
    );
    const worker = new Millrace({ url }).worker({ logger: silent }).on("work", () => 1);
    await assert.rejects(worker.run(), Unauthenticated);
    assert.equal(process.listenerCount("SIGTERM"), 0);
  });

  test("a worker works once, and with handlers", () => {
    assert.throws(() => mr.worker().start(), /no handlers/);
    const worker = mr.worker({ concurrency: 0 }).on("a", () => 1);
    assert.throws(() => worker.on("a", () => 2), /handler/);
    assert.throws(() => worker.start(), RangeError);
  });
});

test("a worker outlives its server, and says so once", async (t) => {
  const own = await Server.running();
  const client = new Millrace({ url: own.url });
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  let begun = false;
  const worker = client.worker({ logger: { info: note, warn: note } }).on("work", async () => {
    begun = true;
    await sleep(700);
    return "late";
  });
  t.after(() => worker.stop());
  worker.start();
  const { job } = await client.submit({ type: "work" });
  await eventually(() => begun); // the server's answer has come
  await own.end("SIGKILL");
  await sleep(1_000); // the handler ends meanwhile
  await own.start();
  assert.equal((await client.wait(job.id)).result, "late");
  await eventually(() => lines.length > 1, 60_000, "the line that the server is back");
  assert.deepEqual(
    lines.map((line) => line.replace(/^.*(tries again|reached).*$/, "$1")),
    ["tries again", "reached"],
  );
});

test("an idle worker uses no processor time that can be seen", async (t) => {
  const { job, worker } = setUp(t, { pollWait: 10_000 });
  worker.on(job, () => 1).start();
  await job.wait((await job.submit(null)).job.id);
  // It has become idle some time later.
  let used = Infinity;
  for (let i = 0; i < 10 && used >= 40_000; i++) {
    await sleep(500);
    const before = process.cpuUsage();
    await sleep(2_000);
    const { user, system } = process.cpuUsage(before);
    used = user + system;
  }
  assert.ok(used < 40_000, `${used} µs in two seconds`);
});
