import assert from "node:assert/strict";
import test, { describe } from "node:test";

import {
  DuplicateWorkflow,
  exactJson,
  InvalidState,
  Millrace,
  NoResult,
  NotFound,
  Unreachable,
  ValidationFailed,
  VersionConflict,
  WaitTimeout,
  WorkflowBuilder,
  type Context,
  type NewMember,
} from "@millrace/sdk";

import { answering, breaking, ownQueue, Server, strangeServer } from "./support.js";

const server = await Server.running();
const mr = new Millrace({ url: server.url });
const silent = { info: () => undefined, warn: () => undefined };

/** A worker that plays the handlers of a queue, and ends with the test. */
function working(
  t: test.TestContext,
  queue: string,
  handlers: Record<string, (payload: any, ctx: Context) => unknown>,
  client = mr,
): void {
  const worker = client.worker({ queues: [queue], pollWait: 1_000, logger: silent });
  for (const [type, handler] of Object.entries(handlers)) worker.on(type, handler);
  worker.start();
  t.after(() => worker.stop().catch(() => undefined));
}

describe("the builder", () => {
  test("makes members with their needs", () => {
    const flow = new WorkflowBuilder("payment", { queue: "payments", maxActive: 10 });
    const card = flow.add("card", { type: "card.charge", payload: 1 });
    const invoice = flow.add("invoice", { type: "invoice.send" }, { needs: [card.failed] });
    flow.add("ship", { type: "parcel.ship" }, { needs: [card, invoice], needsAny: true });
    flow.add({ type: "note" }, { needs: [card.ended, "ship"] });
    flow.onEnd = { type: "page.me" };
    assert.deepEqual(JSON.parse(JSON.stringify(flow)), {
      name: "payment",
      queue: "payments",
      maxActive: 10,
      onEnd: { type: "page.me" },
      members: [
        { ref: "card", job: { type: "card.charge", payload: 1 } },
        { ref: "invoice", job: { type: "invoice.send" }, needs: [{ ref: "card", on: "failed" }] },
        {
          ref: "ship",
          job: { type: "parcel.ship" },
          needs: [{ ref: "card" }, { ref: "invoice" }],
          needsAny: true,
        },
        { job: { type: "note" }, needs: [{ ref: "card", on: "ended" }, "ship"] },
      ],
    });
  });

  test("refuses a ref that is there, and a job that can be no member's", () => {
    const flow = new WorkflowBuilder();
    flow.add("a", { type: "t" });
    assert.throws(() => flow.add("a", { type: "t" }), RangeError);
    for (const unfit of [
      { id: mr.makeId() },
      { unique: { key: "u" } },
      { expiresAt: "2030-01-01T00:00:00Z" },
      { idempotencyKey: "k" },
    ]) {
      const job = mr.job("t", unfit).make(null);
      assert.throws(() => flow.add("b", job), TypeError);
      assert.throws(() => flow.add(job), TypeError);
    }
    assert.equal(flow.members.length, 1);
  });
});

describe("calls", () => {
  test("a workflow is created, read, listed and waited for", async (t) => {
    const queue = ownQueue();
    const load = mr.job<{ day: number }, { rows: number }>("load", { queue });
    const flow = new WorkflowBuilder("nightly", { queue, tags: ["vip"], resultFrom: "publish" });
    const loaded = flow.add("stage/load", load.make({ day: 3 }));
    flow.add("publish", { type: "publish" }, { needs: [loaded] });
    const { workflow: made, isNew } = await mr.createWorkflow(flow);
    assert.deepEqual([isNew, made.state, made.members, made.open], [true, "running", 2, false]);
    assert.equal(made.id.slice(15, 18), mr.makeId(queue).slice(15, 18));
    await assert.rejects(mr.waitWorkflow(made.id, { timeout: 100 }), WaitTimeout);

    const blocked = await mr.workflowMember(made.id, "publish", { include: ["job"] });
    assert.deepEqual([blocked.state, blocked.waitsFor], ["blocked", ["stage/load"]]);
    assert.deepEqual(blocked.needs, [{ ref: "stage/load", on: "succeeded" }]);
    assert.equal((await mr.workflowMember(made.id, "stage/load")).definition?.type, "load");
    const why = await mr.whyWorkflow(made.id);
    assert.deepEqual([why.blocking[0]?.code, why.blocking[0]?.count], ["active", 1]);
    const lines = [];
    for await (const line of mr.workflowGraphAll(made.id)) lines.push(line.ref);
    assert.deepEqual(lines, ["stage/load", "publish"]);

    working(t, queue, {
      load: ({ day }) => ({ rows: day * 4 }),
      publish: (_, ctx) => ctx.parent<{ rows: number }>("stage/load").rows + 1,
    });
    const ended = await mr.waitWorkflow(made.id);
    assert.deepEqual([ended.state, ended.result, ended.counts.succeeded], ["succeeded", 13, 2]);
    const page = await mr.workflowMembers(made.id, { include: ["result"], limit: 1 });
    assert.deepEqual([page.items[0]?.result, page.items.length], [{ rows: 12 }, 1]);
    const numbers = [];
    for await (const each of mr.workflowMembersAll(made.id, { limit: 1 }))
      numbers.push(each.number);
    assert.deepEqual(numbers, [0, 1]);
    const none = await mr.workflowMembers(made.id, { state: "failed" });
    assert.deepEqual(none.items, []);
    const found = [];
    for await (const each of mr.workflowsAll({ queue, tag: "vip", fresh: true }))
      found.push(each.id);
    assert.deepEqual(found, [made.id]);
    await mr.deleteWorkflow(made.id);
    await assert.rejects(mr.workflow(made.id), NotFound);
  });

  test("once only: by id, by idempotency key, by unique key", async () => {
    const queue = ownQueue();
    const spec = { queue, members: [{ job: { type: "t" } }] };
    const id = mr.makeId(queue);
    assert.equal((await mr.createWorkflow({ ...spec, id })).isNew, true);
    assert.equal((await mr.createWorkflow({ ...spec, id })).isNew, false);
    const keyed = { ...spec, idempotencyKey: "k", unique: { key: "order-17" } };
    const { workflow } = await mr.createWorkflow(keyed);
    const again = await mr.createWorkflow(keyed);
    assert.deepEqual([again.isNew, again.workflow.id], [false, workflow.id]);
    const { unique } = keyed;
    assert.equal((await mr.createWorkflow({ ...spec, unique })).workflow.id, workflow.id);
    const reject = { ...unique, onConflict: "reject" as const };
    await assert.rejects(mr.createWorkflow({ ...spec, unique: reject }), DuplicateWorkflow);
  });

  test("an open one grows until it is closed", async () => {
    const queue = ownQueue();
    const { workflow } = await mr.createWorkflow({ name: "crawl", queue, open: true });
    const pages: NewMember[] = ["page-1", "page-2"].map((ref) => ({ ref, job: { type: "fetch" } }));
    assert.deepEqual(await mr.addMembers(workflow.id, pages), {
      added: 2,
      existing: 0,
      members: 2,
    });
    assert.equal((await mr.addMembers(workflow.id, pages)).existing, 2);
    assert.equal((await mr.addMembers(workflow.id, [{ job: { type: "t" } }])).members, 3);
    const { version } = await mr.workflow(workflow.id);
    const ifMatch = version + 1;
    await assert.rejects(mr.closeWorkflow(workflow.id, { ifMatch }), VersionConflict);
    assert.equal((await mr.closeWorkflow(workflow.id)).open, false);
    await assert.rejects(
      mr.addMembers(workflow.id, [{ ref: "x", job: { type: "t" } }]),
      InvalidState,
    );
    const grown = [{ ref: "page-3", job: { type: "t" } }];
    assert.equal((await mr.addMembers(workflow.id, grown, { by: "page-1" })).added, 1);
  });

  test("skip, cancel, retry", async () => {
    const queue = ownQueue();
    const flow = new WorkflowBuilder("order", { queue });
    const first = flow.add("reserve", { type: "reserve" });
    const pay = flow.add("pay", { type: "pay" }, { needs: [first] });
    flow.add("ship", { type: "ship" }, { needs: [pay] });
    const { workflow } = await mr.createWorkflow(flow);
    assert.ok((await mr.skipMember(workflow.id, "pay")).counts.skipped > 0);
    assert.equal((await mr.workflowMember(workflow.id, "ship", { wait: 60_000 })).state, "skipped");
    await assert.rejects(mr.skipMember(workflow.id, "pay"), InvalidState);
    await assert.rejects(mr.retryWorkflow(workflow.id), InvalidState);
    await mr.cancelWorkflow(workflow.id, { reason: "the customer withdrew" });
    const ended = await mr.waitWorkflow(workflow.id);
    assert.deepEqual([ended.state, ended.cancelReason], ["cancelled", "the customer withdrew"]);
    await assert.rejects(mr.cancelWorkflow(workflow.id), InvalidState);
    const again = await mr.retryWorkflow(workflow.id, { refs: ["reserve"], resetAttempts: false });
    assert.deepEqual([again.state, again.generation], ["running", 2]);
  });

  test("what is wrong with a graph is told", async () => {
    const members = [{ ref: "a", needs: ["b"], job: { type: "t" } }];
    await assert.rejects(mr.createWorkflow({ members }), (error: ValidationFailed) => {
      assert.match(error.errors[0]?.where ?? "", /^\/members\/0/);
      return error instanceof ValidationFailed;
    });
  });

  test("more than 10,000 members go in parts, and stay in order", async () => {
    const queue = ownQueue();
    const defaults = { type: "t", priority: 3, delay: 60_000 };
    const flow = new WorkflowBuilder("wide", { queue, id: mr.makeId(queue), defaults });
    for (let i = 0; i < 20_001; i++) flow.add({});
    flow.add("last", { type: "u", runAt: "2030-01-01T00:00:00.000Z" });
    const { workflow, isNew } = await mr.createWorkflow(flow, { timeout: 60_000 });
    assert.deepEqual([workflow.members, workflow.open, isNew], [20_002, false, true]);
    const { number, definition } = await mr.workflowMember(workflow.id, "last");
    assert.deepEqual([number, definition?.type, definition?.priority], [20_001, "u", 3]);
    assert.deepEqual(
      [definition?.runAt, definition?.delay],
      ["2030-01-01T00:00:00.000Z", undefined],
    );
    const again = await mr.createWorkflow(flow, { timeout: 60_000 });
    assert.deepEqual([again.workflow.members, again.isNew], [20_002, false]);
  });
});

describe("tries", () => {
  const invalid = answering(409, { code: "invalid_state", status: 409 });
  const workflow = { id: "x", state: "cancelled" };

  test("a creation is sent again, the same one", async () => {
    const { url, seen } = await strangeServer(breaking, answering(200, { id: "x", open: false }));
    await new Millrace({ url }).createWorkflow({ members: [] });
    assert.equal(seen.length, 2);
  });

  test("members without refs get a key", async () => {
    const { url, seen } = await strangeServer(answering(200, { added: 1 }));
    const client = new Millrace({ url });
    await client.addMembers("x", [{ ref: "a", job: { type: "t" } }, { job: { type: "t" } }]);
    await client.addMembers("x", [{ ref: "a", job: { type: "t" } }]);
    assert.match(seen[0]?.headers["idempotency-key"] as string, /^[0-9a-f-]{36}$/);
    assert.equal(seen[1]?.headers["idempotency-key"], undefined);
  });

  test("a cancellation that was tried before, and finds it cancelled, has succeeded", async () => {
    const { url } = await strangeServer(breaking, invalid, answering(200, workflow));
    assert.equal((await new Millrace({ url }).cancelWorkflow("x")).state, "cancelled");
    const { url: other } = await strangeServer(invalid);
    await assert.rejects(new Millrace({ url: other }).cancelWorkflow("x"), InvalidState);
    const running = answering(200, { ...workflow, state: "succeeded" });
    const { url: third } = await strangeServer(breaking, invalid, running);
    await assert.rejects(new Millrace({ url: third }).cancelWorkflow("x"), InvalidState);
  });

  test("a skip that was tried before, and finds it skipped, has succeeded", async () => {
    const skipped = answering(200, { state: "skipped" });
    const { url, seen } = await strangeServer(breaking, invalid, skipped, answering(200, workflow));
    assert.equal((await new Millrace({ url }).skipMember("x", "a/b")).id, "x");
    assert.equal(seen[2]?.url, "/v1/workflows/x/members/a%2Fb");
  });

  test("a retry that may have begun is not repeated", async () => {
    const { url, seen } = await strangeServer(breaking);
    await assert.rejects(new Millrace({ url }).retryWorkflow("x"), Unreachable);
    assert.equal(seen.length, 1);
  });

  test("the parts of a creation are not added to another workflow", async () => {
    const { url, seen } = await strangeServer(answering(200, { id: "other", open: true }));
    const members = Array.from({ length: 10_001 }, () => ({ job: { type: "t" } }));
    const client = new Millrace({ url });
    const { isNew } = await client.createWorkflow({ members });
    assert.deepEqual([isNew, seen.length], [false, 1]);
    await assert.rejects(client.createWorkflow({ members, idempotencyKey: "k" }), RangeError);
  });
});

describe("in a handler", () => {
  test("a parent that is none, or has no result, is an error that says why", async (t) => {
    const queue = ownQueue();
    const seen: unknown[] = [];
    const flow = new WorkflowBuilder("try", { queue, defaults: { maxAttempts: 1 } });
    const big = flow.add("big", { type: "big" });
    const bad = flow.add("bad", { type: "bad" });
    flow.add("check", { type: "check" }, { needs: [big, bad.failed] });
    flow.onSuccess = { type: "callback" };
    working(
      t,
      queue,
      {
        big: () => 2n ** 63n,
        bad: () => {
          throw new Error("no");
        },
        check: (_, ctx) => {
          seen.push(ctx.parent("big"), ctx.workflow?.name, ctx.workflow?.ref, ctx.parents["bad"]);
          for (const ref of ["bad", "bat", "constructor"]) {
            try {
              ctx.parent(ref);
            } catch (error) {
              seen.push(error);
            }
          }
        },
        callback: (_, ctx) => {
          seen.push(ctx.workflow?.role, ctx.workflow?.counts, ctx.workflow?.failed, ctx.parents);
        },
      },
      new Millrace({ url: server.url, json: exactJson }),
    );
    const { workflow } = await mr.createWorkflow(flow);
    const ended = await mr.waitWorkflow(workflow.id);
    await mr.wait(ended.callbacks.onSuccess ?? "");
    const [result, name, ref, parent, failed, unknown, inherited, ...told] = seen as any[];
    assert.deepEqual([result, name, ref], [2n ** 63n, "try", "check"]);
    assert.deepEqual([parent.state, parent.reason], ["failed", "dead"]);
    assert.ok(failed instanceof NoResult);
    assert.equal(
      failed.message,
      `the result of bad does not exist: it is failed (dead); its job is ${parent.id}`,
    );
    assert.ok(unknown instanceof RangeError && inherited instanceof RangeError);
    assert.equal(unknown.message, "bat is no parent of the job; there are big, bad");
    const counts = { blocked: 0, active: 0, succeeded: 2, failed: 1, skipped: 0 };
    assert.deepEqual(told, ["callback", counts, ["bad"], {}]);
  });

  test("a result that was left out says so", async (t) => {
    const queue = ownQueue();
    const flow = new WorkflowBuilder("large", { queue });
    const needs = ["a", "b"].map((ref) => flow.add(ref, { type: "large" }));
    flow.add("join", { type: "join", maxAttempts: 1 }, { needs });
    working(t, queue, {
      large: () => "x".repeat(600 << 10),
      join: (_, ctx) => ["a", "b"].map((ref) => ctx.parent<string>(ref).length),
    });
    const { workflow } = await mr.createWorkflow(flow);
    await mr.waitWorkflow(workflow.id);
    const { job } = await mr.workflowMember(workflow.id, "join", { include: ["job"] });
    const error = job?.lastError;
    assert.equal(error?.type, "NoResult");
    assert.match(
      error?.message ?? "",
      /is left out: the results .* than 1 MiB; its job is [0-9a-f-]+$/,
    );
  });
});
