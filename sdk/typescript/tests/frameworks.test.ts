// The package within the frameworks of its users: node-postgres, Standard Schema, NestJS.
import "reflect-metadata";

import assert from "node:assert/strict";
import test, { describe } from "node:test";

import { Inject, Injectable, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import pg from "pg";
import { z } from "zod";

import { Fake, Millrace, NotFound, PayloadError, ResultError, type Job } from "@millrace/sdk";
import { MillraceModule, OnJob } from "@millrace/sdk/nestjs";

import { database, eventually, ownQueue, Server } from "./support.js";

const url = await database();
const server = await Server.running(url);
const mr = new Millrace({ url: server.url });
const silent = { info: () => undefined, warn: () => undefined };

describe("a job in the application's own transaction", () => {
  const arrived = async (id: string): Promise<Job> => {
    let job: Job | undefined;
    await eventually(async () => {
      job = await mr.get(id, { include: ["payload"] }).catch((error: unknown) => {
        if (error instanceof NotFound) return undefined;
        throw error;
      });
      return job;
    });
    return job as Job;
  };

  test("comes if and only if that commits, with all its members", async (t) => {
    const db = new pg.Client(url);
    await db.connect();
    t.after(() => db.end());
    const queue = ownQueue();
    await mr.putLimit(queue, { concurrency: 3 });
    const work = mr.job<{ text: string }>("work", { queue, delay: 3_600_000, tags: ["a", "b"] });
    await db.query("BEGIN");
    const lost = await work.submitTx(db, { text: "lost" });
    await db.query("ROLLBACK");
    await db.query("BEGIN");
    const id = await work.submitTx(
      db,
      { text: "it's $1" },
      {
        priority: -3,
        expiresAt: new Date("2040-01-01T00:00:00Z"),
        maxAttempts: 7,
        retry: { strategy: "list", delays: [1, 2] },
        lease: 5_000,
        timeout: 6_000,
        unique: { key: "u", for: 60_000, onConflict: "reject" },
        meta: { tenant: "acme" },
        limits: [{ name: queue, cost: 2 }],
        orderKey: "o",
        orderOnFailure: "pass",
        fairKey: "f",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      },
    );
    const keyed = await mr.submitTx(db, { type: "keyed", queue, idempotencyKey: "k", payload: 7 });
    await db.query("COMMIT");
    const job = await arrived(id);
    const { state, payload, priority, maxAttempts, lease, timeout, meta, tags, fairKey } = job;
    assert.deepEqual(
      { state, payload, priority, maxAttempts, lease, timeout, meta, tags, fairKey },
      {
        state: "scheduled",
        payload: { text: "it's $1" },
        priority: -3,
        maxAttempts: 7,
        lease: 5_000,
        timeout: 6_000,
        meta: { tenant: "acme" },
        tags: ["a", "b"],
        fairKey: "f",
      },
    );
    assert.equal(job.expiresAt, "2040-01-01T00:00:00.000Z");
    assert.deepEqual(job.retry, { strategy: "list", delays: [1, 2] });
    assert.deepEqual(job.unique, { key: "u", for: 60_000, onConflict: "reject" });
    assert.deepEqual([job.orderKey, job.orderOnFailure], ["o", "pass"]);
    assert.equal(job.limits?.find(({ name }) => name === queue)?.cost, 2);
    assert.match(job.traceparent ?? "", /0af7651916cd43dd/);
    assert.equal((await arrived(keyed)).payload, 7);
    await assert.rejects(mr.get(lost), NotFound);
  });

  test("is refused at once where the function sees what is wrong", async (t) => {
    const db = new pg.Client(url);
    await db.connect();
    t.after(() => db.end());
    await assert.rejects(mr.submitTx(db, { type: "t", priority: 1e5 }), /priority/);
    await assert.rejects(mr.submitTx(db, { type: "t", payload: new Map() }), TypeError);
    await assert.rejects(mr.submitTx(db, { type: "t", prioritty: 1 } as never), /prioritty/);
  });

  test("is taken by the fake, which needs no database", async () => {
    const fake = new Fake();
    const id = await fake.job<number>("work").submitTx(undefined as never, 7);
    assert.deepEqual([(await fake.get(id)).type, fake.enqueued()[0]?.payload], ["work", 7]);
  });
});

describe("schemas", () => {
  const payload = z.object({ to: z.email(), at: z.coerce.date().default(new Date(0)) });
  const result = z.object({ sent: z.number().int() });

  test("give the types and check the values", async (t) => {
    const mail = mr.job("mail", { queue: ownQueue(), maxAttempts: 1, payload, result });
    const worker = mr.worker({ queues: [mail.defaults.queue as string], logger: silent });
    t.after(() => worker.stop());
    worker
      .on(mail, ({ to, at }, ctx) => {
        assert.equal(ctx.job.payload.at, at);
        return { sent: to.startsWith("half") ? 0.5 : at.getTime() };
      })
      .start();
    const { job } = await mail.submit({ to: "ada@example.org" });
    assert.equal((await mail.wait(job.id)).result?.sent, 0);
    await assert.rejects(mail.submit({ to: "nobody" }), (error: PayloadError) => {
      assert.deepEqual([error.name, error.errors[0]?.where], ["PayloadError", "/payload/to"]);
      return /\/payload\/to: /.test(error.message);
    });
    // @ts-expect-error The payload has another type.
    assert.throws(() => mail.make({ to: 7 }), PayloadError);
    const { job: half } = await mail.submit({ to: "half@example.org" });
    const { state, lastError } = await mail.wait(half.id);
    assert.deepEqual([state, lastError?.type], ["dead", "outcome_refused"]);
    assert.match(lastError?.message ?? "", /\/result\/sent/);
    const plain = mr.job("mail", mail.defaults);
    const { job: wrong } = await plain.submit({ to: 7 });
    const failed = await plain.wait(wrong.id);
    assert.equal(failed.lastError?.type, "PayloadError");
  });

  test("check a result that a producer waits for", async () => {
    const fake = new Fake();
    fake.on("mail", () => ({ sent: "yes" }));
    const mail = fake.job("mail", { payload, result });
    // @ts-expect-error The result has another type.
    assert.throws(() => fake.on(mail, () => ({ sent: "yes" })), /handler for mail already/);
    const { job } = await mail.submit({ to: "ada@example.org" });
    await fake.drain();
    await assert.rejects(mail.wait(job.id), ResultError);
  });

  test("that are asynchronous need submit", async () => {
    const slow = z.string().refine(async (text) => text !== "bad");
    const work = new Fake().job("work", { payload: slow });
    await work.submit("good");
    await assert.rejects(work.submit("bad"), PayloadError);
    assert.throws(() => work.make("good"), /asynchronous/);
  });
});

test("NestJS: providers' methods are handlers from the start to the shutdown", async () => {
  const queue = ownQueue();
  const greet = mr.job<{ name: string }, string>("greet", { queue });

  @Injectable()
  class Words {
    readonly hello = "Hello";
  }

  @Injectable()
  class Greeter {
    constructor(@Inject(Words) readonly words: Words) {}

    @OnJob(greet)
    greet({ name }: { name: string }): string {
      return `${this.words.hello}, ${name}`;
    }

    @OnJob("other")
    async other(): Promise<void> {}

    // @ts-expect-error The payload has another type.
    @OnJob(mr.job<number, string>("wrong", { queue }))
    wrong(payload: string): string {
      return payload;
    }
  }

  const imports = [MillraceModule.forRoot({ client: mr, worker: { queues: [queue] } })];
  @Module({ imports, providers: [Words, Greeter] })
  class Application {}

  const application = await NestFactory.createApplicationContext(Application, { logger: false });
  assert.equal(application.get(Millrace), mr);
  const { job } = await greet.submit({ name: "Ada" });
  assert.equal((await greet.wait(job.id)).result, "Hello, Ada");
  const listed = await mr.workers({ limit: 1_000 });
  const own = listed.items.filter((worker) => worker.queues.includes(queue));
  assert.deepEqual(own[0]?.types?.sort(), ["greet", "other", "wrong"]);
  await application.close();
  const left = await mr.workers({ limit: 1_000 });
  assert.ok(!left.items.some((worker) => worker.id === own[0]?.id));
});
