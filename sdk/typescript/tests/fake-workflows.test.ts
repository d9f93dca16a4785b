import assert from "node:assert/strict";
import test, { describe } from "node:test";

import {
  DuplicateWorkflow,
  Fake,
  InvalidState,
  NoResult,
  NotFound,
  ValidationFailed,
  WaitTimeout,
  WorkflowBuilder,
  type Workflow,
} from "@millrace/sdk";

const boom = (): never => {
  throw new Error("boom");
};

/** A fake whose jobs of the type `work` return their payload, and of the type `fail` fail. */
function working(mode: "drained" | "inline" = "drained"): { fake: Fake; ran: unknown[] } {
  const ran: unknown[] = [];
  const fake = new Fake({ mode }).on("fail", boom).on("work", (payload, ctx) => {
    ran.push(ctx.workflow?.ref ?? payload);
    return payload;
  });
  return { fake, ran };
}

const newFlow = (options: ConstructorParameters<typeof WorkflowBuilder>[1] = {}): WorkflowBuilder =>
  new WorkflowBuilder("flow", { queue: "q", defaults: { maxAttempts: 1 }, ...options });

const states = async (fake: Fake, { id }: Workflow): Promise<Record<string, string>> => {
  const { items } = await fake.workflowMembers(id);
  return Object.fromEntries(items.map(({ ref, number, state }) => [ref ?? `@${number}`, state]));
};

test("members run once what they need has ended, with the results of their parents", async () => {
  const { fake, ran } = working();
  const flow = newFlow({ resultFrom: "join" });
  const load = flow.add("load", { type: "work", payload: [1, 2] });
  const odd = flow.add("odd", { type: "work" }, { needs: [load] });
  const even = flow.add("even", { type: "work" }, { needs: [load] });
  flow.add("join", { type: "join" }, { needs: [load, odd, even] });
  fake.on("join", (_, ctx) => [ctx.parent<number[]>("load").length, Object.keys(ctx.parents)]);
  const { workflow, isNew } = await fake.createWorkflow(flow);
  assert.deepEqual([isNew, workflow.state, workflow.members], [true, "running", 4]);
  await assert.rejects(fake.waitWorkflow(workflow.id), WaitTimeout);
  assert.equal(await fake.drain(), 4);
  assert.deepEqual(ran, ["load", "odd", "even"]);
  const ended = await fake.waitWorkflow(workflow.id);
  assert.deepEqual([ended.state, ended.result], ["succeeded", [2, ["load", "odd", "even"]]]);
  const member = await fake.workflowMember(workflow.id, "join", { include: ["job"] });
  assert.deepEqual([member.job?.workflow?.ref, member.number], ["join", 3]);
});

test("inline, a workflow has run when it is created", async () => {
  const { fake, ran } = working("inline");
  const flow = newFlow({ onSuccess: { type: "work", payload: "callback" } });
  const first = flow.add("first", { type: "work" });
  flow.add("second", { type: "work" }, { needs: [first] });
  const { workflow } = await fake.createWorkflow(flow);
  assert.equal((await fake.waitWorkflow(workflow.id)).state, "succeeded");
  assert.deepEqual(ran, ["first", "second", "callback"]);
});

describe("failures", () => {
  const story = async (onMemberFailed: "continue" | "stop" | "ignore", catches = false) => {
    const { fake } = working();
    const flow = newFlow({ onMemberFailed, onFailure: { type: "page" } });
    const card = flow.add("card", { type: "fail" });
    const paid = flow.add("paid", { type: "work" }, { needs: [card] });
    flow.add("thanks", { type: "work" }, { needs: [paid] });
    flow.add("later", { type: "work", delay: 1_000 });
    if (catches) flow.add("invoice", { type: "work" }, { needs: [card.failed] });
    const { workflow } = await fake.createWorkflow(flow);
    await fake.drain();
    fake.advance(1_000);
    await fake.drain();
    const { state, reason } = await fake.waitWorkflow(workflow.id);
    const pages = fake.enqueued("page").length;
    return { ends: [state, reason, pages], members: await states(fake, workflow) };
  };
  const skipped = { card: "failed", paid: "skipped", thanks: "skipped", later: "succeeded" };

  test("fail the workflow, which goes on, stops or ignores them", async () => {
    const failed = ["failed", "member_failed", 1];
    assert.deepEqual(await story("continue"), { ends: failed, members: skipped });
    const stopped = { ...skipped, later: "failed" };
    assert.deepEqual(await story("stop"), { ends: failed, members: stopped });
    assert.deepEqual(await story("ignore"), { ends: ["succeeded", null, 0], members: skipped });
  });

  test("are caught by a member that needs them", async () => {
    const members = { ...skipped, invoice: "succeeded" };
    for (const policy of ["continue", "stop"] as const) {
      assert.deepEqual(await story(policy, true), { ends: ["succeeded", null, 0], members });
    }
  });

  test("callbacks see them", async () => {
    const { fake } = working();
    const flow = newFlow({ onEnd: { type: "report" } });
    const bad = flow.add("bad", { type: "fail" });
    flow.add("join", { type: "join" }, { needs: [bad.ended] });
    let thrown: unknown;
    fake.on("join", (_, ctx) => {
      try {
        ctx.parent("bad");
      } catch (error) {
        thrown = error;
      }
    });
    const seen: unknown[] = [];
    fake.on("report", (_, { workflow }) => seen.push(workflow?.state, workflow?.failed));
    await fake.createWorkflow(flow);
    await fake.drain();
    assert.ok(thrown instanceof NoResult);
    assert.equal(thrown.parent.reason, "dead");
    assert.deepEqual(seen, ["failed", ["bad"]]);
  });
});

test("needsAny, maxActive", async () => {
  const { fake, ran } = working();
  const flow = newFlow({ maxActive: 1 });
  const slow = flow.add("slow", { type: "work", delay: 1_000 });
  const fast = flow.add("fast", { type: "work" });
  flow.add("any", { type: "work" }, { needs: [slow, fast], needsAny: true });
  const { workflow } = await fake.createWorkflow(flow);
  assert.equal(await fake.drain(), 0); // the slow one has the only place
  fake.advance(1_000);
  await fake.drain();
  assert.deepEqual(ran, ["slow", "fast", "any"]);
  assert.equal((await fake.workflow(workflow.id)).state, "succeeded");
});

test("an open one grows until it is closed, and keys count once", async () => {
  const { fake } = working();
  const unique = { key: "crawl" };
  const { workflow } = await fake.createWorkflow(newFlow({ open: true, unique }));
  assert.equal((await fake.createWorkflow(newFlow({ unique }))).workflow.id, workflow.id);
  const reject = newFlow({ unique: { ...unique, onConflict: "reject" } });
  await assert.rejects(fake.createWorkflow(reject), DuplicateWorkflow);
  const a = { ref: "a", job: { type: "work" } };
  assert.equal((await fake.addMembers(workflow.id, [a, { job: { type: "work" } }])).added, 2);
  assert.deepEqual(await fake.addMembers(workflow.id, [a]), { added: 0, existing: 1, members: 2 });
  await fake.drain();
  assert.equal((await fake.workflow(workflow.id)).state, "running");
  await fake.closeWorkflow(workflow.id);
  assert.equal((await fake.waitWorkflow(workflow.id)).state, "succeeded");
  const late = fake.addMembers(workflow.id, [{ ref: "b", job: { type: "work" } }]);
  await assert.rejects(late, InvalidState);
  assert.equal((await fake.createWorkflow(reject)).isNew, true);
});

test("skips and cancellations", async () => {
  const { fake, ran } = working();
  const flow = newFlow();
  const a = flow.add("a", { type: "work" });
  const b = flow.add("b", { type: "work" }, { needs: [a] });
  flow.add("c", { type: "work" }, { needs: [b] });
  flow.add("d", { type: "work" }, { needs: [b.ended] });
  const { workflow } = await fake.createWorkflow(flow);
  assert.equal((await fake.skipMember(workflow.id, "b")).counts.skipped, 2);
  await assert.rejects(fake.skipMember(workflow.id, "a"), InvalidState);
  await fake.drain();
  assert.deepEqual(ran, ["a", "d"]);
  assert.equal((await fake.waitWorkflow(workflow.id)).state, "succeeded");
  const { workflow: other } = await fake.createWorkflow(flow);
  await fake.cancelWorkflow(other.id, { reason: "no need" });
  const ended = await fake.waitWorkflow(other.id);
  assert.deepEqual([ended.state, ended.cancelReason], ["cancelled", "no need"]);
  await assert.rejects(fake.cancelWorkflow(other.id), InvalidState);
  assert.equal(await fake.drain(), 0);
  const found = [];
  for await (const each of fake.workflowsAll({ name: "flow" }, { limit: 1 })) found.push(each.id);
  assert.deepEqual(found, [other.id, workflow.id]);
});

describe("a handler that adds members", () => {
  test("does so with its success alone", async () => {
    const { fake, ran } = working();
    fake.on("plan", (isGood, ctx) => {
      const page = ctx.add("page", { type: "work", payload: 1 });
      ctx.add("join", { type: "work" }, { needs: [page, "plan"] });
      assert.throws(() => ctx.add("page", { type: "work" }), RangeError);
      ctx.skip("idle");
      if (!isGood) boom();
    });
    const flow = newFlow();
    const plan = flow.add("plan", { type: "plan", payload: true });
    flow.add("idle", { type: "work" }, { needs: [plan] });
    const { workflow } = await fake.createWorkflow(flow);
    await fake.drain();
    assert.deepEqual(ran, ["page", "join"]);
    assert.equal((await states(fake, workflow))["idle"], "skipped");
    assert.equal((await fake.waitWorkflow(workflow.id)).state, "succeeded");
    const bad = newFlow();
    bad.add("plan", { type: "plan", payload: false });
    const { workflow: failed } = await fake.createWorkflow(bad);
    await fake.drain();
    assert.deepEqual(await states(fake, failed), { plan: "failed" });
  });

  test("fails if they are refused, or if it is no member", async () => {
    const { fake } = working();
    fake.on("plan", (_, ctx) => void ctx.add("x", { type: "work" }, { needs: ["nobody"] }));
    const flow = newFlow();
    flow.add("plan", { type: "plan" });
    const { workflow } = await fake.createWorkflow(flow);
    const { job: alone } = await fake.submit({ type: "plan", maxAttempts: 1 });
    await fake.drain();
    const { job } = await fake.workflowMember(workflow.id, "plan", { include: ["job"] });
    assert.equal(job?.lastError?.type, "outcome_refused");
    assert.match((await fake.get(alone.id)).lastError?.message ?? "", /no member of a workflow/);
  });
});

test("what is wrong or missing is told", async () => {
  const { fake } = working();
  const job = { type: "work" };
  for (const members of [
    [{ ref: "a", needs: ["a"], job }],
    [
      { ref: "a", job },
      { ref: "a", job },
    ],
    [{ ref: "a", needs: ["b"], job }],
    [{ ref: "a", job: { type: "no name" } }],
    [{ ref: "a", job: { ...job, unique: { key: "u" } } }],
  ]) {
    await assert.rejects(fake.createWorkflow({ members }), ValidationFailed);
  }
  assert.deepEqual((await fake.workflows()).items, []);
  await assert.rejects(fake.workflow("nope"), NotFound);
  await assert.rejects(fake.createWorkflow({ timeout: 1_000 }), { code: "not_in_fake" });
  const { workflow } = await fake.createWorkflow({ members: [{ ref: "a", job }] });
  await assert.rejects(fake.retryWorkflow(workflow.id), { code: "not_in_fake" });
  await assert.rejects(fake.whyWorkflow(workflow.id), { code: "not_in_fake" });
  await assert.rejects(fake.workflowMember(workflow.id, "b"), NotFound);
});
