import type { Growth } from "../context.js";
import type * as wire from "../wire-shapes.js";
import type { FakeJob } from "./fake-job.js";
import { FakeMember, FakeWorkflow, type Outcome } from "./fake-workflow.js";
import { invalid, Refusal } from "./refusal.js";
import { faultsOf, NAME, readBody, type FaultOfBody, type Submission } from "./submission.js";

/** What the workflows of a fake do with its jobs. */
export interface JobsOfWorkflows {
  now(): number;
  makeId(): string;
  /** Stores a job, however full its queue is. Throws a Refusal if its limits do not exist. */
  admit(given: Submission, place: Place): FakeJob;
  cancel(job: FakeJob): void;
}

/** The workflow of a job, as a claim shows it, and the members that the job's member needs. */
export interface Place {
  workflow: wire.WorkflowOfClaim;
  parents: FakeMember[];
  member: FakeMember | undefined;
}

interface Reply {
  status: number;
  text: string;
}

const PATH = /^\/v1\/workflows(?:\/([^/]+))?(?:\/(members|close|cancel))?(?:\/([^/]+))?(\/skip)?$/;
const UNFIT: Record<string, string> = {
  id: "the server makes the ids of its jobs",
  unique: "set unique of the workflow, or a limit of the job",
  expires_at: "set expires_in_ms, which counts from the job's release",
};
const CALLBACKS = ["on_success", "on_failure", "on_end"] as const;
const MOST_FAILED = 20; // refs that a callback gets

/**
 * The workflows of a fake. They have no timeouts, and are not retried, deleted or explained: the fake
 * refuses that.
 */
export class FakeWorkflows {
  readonly #jobs: JobsOfWorkflows;
  readonly #workflows = new Map<string, FakeWorkflow>();
  readonly #keys = new Map<string, { body: string; id: string }>();

  constructor(jobs: JobsOfWorkflows) {
    this.#jobs = jobs;
  }

  /** Answers a request; undefined if the fake does not know it. */
  answer(
    method: string,
    path: string,
    query: URLSearchParams,
    headers: Record<string, string>,
    body: string,
  ): Reply | undefined {
    const [, id, part = "", ref, skip = ""] = PATH.exec(path) ?? [];
    const include = (query.get("include") ?? "").split(",");
    const shown = (workflow: FakeWorkflow, status = 200): Reply => ({
      status,
      text: workflow.text(include),
    });
    const key = headers["idempotency-key"];
    const place = `${id ? " one" : ""}${part && ` ${part}`}${ref ? " ref" : ""}${skip}`;
    switch (`${method}${place}`) {
      case "POST":
        return this.#create(body, key);
      case "GET":
        return this.#list(query);
      case "GET one":
        return shown(this.#find(id));
      case "GET one members":
        return this.#members(this.#find(id), query, include);
      case "GET one members ref":
        return { status: 200, text: this.#find(id).found(named(ref)).text(include, true) };
      case "POST one members":
        return this.#grow(this.#find(id), body, key);
      case "POST one close":
        return shown(this.#close(this.#find(id)));
      case "POST one cancel":
        return shown(this.#cancel(this.#find(id), body));
      case "POST one members ref/skip": {
        const workflow = this.#find(id);
        skipMember(workflow.found(named(ref)));
        workflow.skipHopeless();
        return shown(workflow);
      }
      default:
        return undefined;
    }
  }

  // The calls.

  #find(id = ""): FakeWorkflow {
    const workflow = this.#workflows.get(id);
    if (!workflow) throw new Refusal(404, "not_found", "there is no such workflow");
    return workflow;
  }

  #create(body: string, key: string | undefined): Reply {
    const given = readBody(body) as wire.WorkflowInput;
    if (given.timeout_ms !== undefined) {
      throw new Refusal(501, "not_in_fake", "the fake has no timeouts of workflows");
    }
    const known = this.#known(given, body, key);
    if (known) return { status: 200, text: known.text([]) };
    const id = given.id ?? this.#jobs.makeId();
    const workflow = new FakeWorkflow(given, id, this.#workflows.size, this.#jobs.now());
    workflow.add(this.#made(workflow, given.members ?? [], given.defaults));
    const { result_from: from } = given;
    if (from !== undefined && !workflow.open && !workflow.find(from)) {
      throw invalid([{ pointer: "/result_from", detail: "no member has this ref" }]);
    }
    const called = CALLBACKS.flatMap((name) => faultsOfJob(this.#callback(workflow, name), name));
    if (called.length) throw invalid(called);
    this.#workflows.set(id, workflow);
    if (key !== undefined) this.#keys.set(`${workflow.queue} ${key}`, { body, id });
    return { status: 201, text: workflow.text([]) }; // nothing is released yet
  }

  #known(
    given: wire.WorkflowInput,
    body: string,
    key: string | undefined,
  ): FakeWorkflow | undefined {
    const { queue = "default", unique } = given;
    const before = key === undefined ? undefined : this.#keys.get(`${queue} ${key}`);
    if (before) {
      if (before.body === body) return this.#find(before.id);
      throw new Refusal(422, "idempotency_mismatch", "the key was used with another body");
    }
    const same = this.#workflows.get(given.id ?? "");
    if (same) {
      if (JSON.stringify(same.given) === JSON.stringify(given)) return same;
      throw new Refusal(409, "id_mismatch", "another request made the workflow with this id");
    }
    if (!unique) return undefined;
    const holder = [...this.#workflows.values()].find(
      (each) => !each.hasEnded && each.queue === queue && each.given.unique?.key === unique.key,
    );
    if (holder && unique.on_conflict === "reject") {
      throw new Refusal(409, "duplicate_workflow", `workflow ${holder.id} holds the unique key`);
    }
    return holder;
  }

  #list(query: URLSearchParams): Reply {
    const limit = Number(query.get("limit") ?? 50);
    const before = Number(query.get("cursor") ?? Infinity);
    const states = query.get("state")?.split(",");
    const fits = (each: FakeWorkflow): boolean =>
      each.number < before &&
      (!states || states.includes(each.state)) &&
      (query.get("queue") ?? each.queue) === each.queue &&
      (query.get("name") ?? each.given.name) === each.given.name &&
      (!query.has("tag") || (each.given.tags ?? []).includes(query.get("tag") as string)) &&
      Date.parse(query.get("created_after") ?? "1970") <= each.createdAt &&
      Date.parse(query.get("created_before") ?? "9999") > each.createdAt;
    const found = [...this.#workflows.values()].filter(fits).reverse();
    return pageOf(found, limit, (each) => each.text([]));
  }

  #members(workflow: FakeWorkflow, query: URLSearchParams, include: string[]): Reply {
    const limit = Number(query.get("limit") ?? 50);
    const after = Number(query.get("cursor") ?? -1);
    const found = workflow.members.filter(
      ({ number, state }) => number > after && (query.get("state") ?? state) === state,
    );
    return pageOf(found, limit, (member) => member.text(include, false));
  }

  #grow(workflow: FakeWorkflow, body: string, key: string | undefined): Reply {
    const { members, by, close = false } = readBody(body) as wire.MembersInput;
    const before = key === undefined ? undefined : this.#keys.get(`${workflow.id} ${key}`);
    if (before && before.body !== body) {
      throw new Refusal(422, "idempotency_mismatch", "the key was used with another body");
    }
    if (key === undefined && members.some(({ ref }) => ref === undefined)) {
      throw invalid([{ pointer: "/members", detail: "members without a ref need a key" }]);
    }
    if (!before && workflow.hasEnded) throw conflict("the workflow has ended");
    const made = before ? [] : this.#made(workflow, members, {});
    if (made.length > 0) {
      if (by === undefined && !workflow.open) throw conflict("the workflow is closed");
      if (by !== undefined && workflow.find(by)?.state !== "active") {
        throw conflict(`the member ${by} is not active, so it can't add members`);
      }
    }
    const closes = close && workflow.open;
    if (made.length > 0 || closes) workflow.version++;
    if (closes) workflow.open = false;
    workflow.add(made);
    if (key !== undefined) this.#keys.set(`${workflow.id} ${key}`, { body, id: workflow.id });
    const added = made.length;
    const counts = { added, existing: members.length - added, members: workflow.members.length };
    return { status: 200, text: JSON.stringify(counts) };
  }

  #close(workflow: FakeWorkflow): FakeWorkflow {
    if (workflow.open) workflow.version++;
    workflow.open = false;
    return workflow;
  }

  #cancel(workflow: FakeWorkflow, body: string): FakeWorkflow {
    if (workflow.hasEnded) throw conflict("the workflow has ended");
    if (workflow.reason === "cancelled") return workflow;
    workflow.cancelReason = (JSON.parse(body) as { reason?: string }).reason;
    this.#stop(workflow, "cancelled");
    return workflow;
  }

  // Members.

  // Returns the members that are new; throws if one is bad, with all faults that a job has.
  #made(
    workflow: FakeWorkflow,
    inputs: wire.MemberInput[],
    defaults: wire.MemberJobInput = {},
  ): FakeMember[] {
    const made: { at: number; member: FakeMember }[] = [];
    const refs = new Map<string, FakeMember>();
    const faults: FaultOfBody[] = [];
    inputs.forEach(({ ref, job, needs_any: any = false }, at) => {
      if (ref !== undefined && workflow.find(ref)) return;
      const given = { queue: workflow.queue, ...defaults, ...job } as Submission;
      faults.push(...faultsOfJob(given, `members/${at}/job`));
      if (ref !== undefined && !NAME.test(ref)) faults.push(fault(at, "its ref is no name"));
      if (ref !== undefined && refs.has(ref)) faults.push(fault(at, "another member has this ref"));
      const number = workflow.members.length + made.length;
      const member = new FakeMember(number, ref ?? null, given, any);
      made.push({ at, member });
      if (ref !== undefined) refs.set(ref, member);
    });
    for (const { at, member } of made) {
      for (const need of inputs[at]?.needs ?? []) {
        const { ref, on = "succeeded" } = typeof need === "string" ? { ref: need } : need;
        const of = refs.get(ref) ?? (ref.startsWith("@") ? undefined : workflow.find(ref));
        if (of) member.needs.push({ of, on });
        else faults.push(fault(at, `no member has the ref ${ref}`));
      }
    }
    if (faults.length) throw invalid(faults);
    const circle = inCircle(made.map(({ member }) => member));
    const at = made.find(({ member }) => member === circle)?.at;
    if (at !== undefined)
      throw invalid([fault(at, "the member needs itself, through what it needs")]);
    return made.map(({ member }) => member);
  }

  /** Adds and skips what a handler that succeeds asks for. Throws a Refusal, and does nothing then. */
  growBy(place: Place, { members, skip }: Growth): void {
    const workflow = this.#find(place.workflow.id);
    const made = this.#made(workflow, members.map(readBody) as wire.MemberInput[], {});
    const skipped = skip.map((ref) => workflow.found(ref));
    for (const { state, name } of skipped) {
      if (state !== "blocked") throw conflict(`the member ${name} is not blocked`);
    }
    for (const member of skipped) skipMember(member);
    if (made.length > 0) workflow.version++;
    workflow.add(made);
  }

  // What follows.

  /** Does what follows from the ends of jobs and from calls: releases, skips, ends of workflows. */
  advance(): void {
    for (const workflow of this.#workflows.values()) {
      if (!workflow.hasEnded) this.#advance(workflow);
    }
  }

  #advance(workflow: FakeWorkflow): void {
    for (const member of workflow.members) {
      if (member.state !== "active" || !member.job?.hasEnded) continue;
      const { state } = member.job;
      if (state === "succeeded") member.end("succeeded", null);
      else member.end("failed", state as "dead" | "expired" | "cancelled");
    }
    workflow.skipHopeless();
    if (workflow.isToStop) this.#stop(workflow, "member_failed");
    const released = workflow.releasable();
    for (const member of released) this.#release(workflow, member);
    const ended = workflow.outcome();
    if (ended) return this.#end(workflow, ended);
    if (released.some(({ hasEnded }) => hasEnded)) this.#advance(workflow); // one was refused
  }

  #release(workflow: FakeWorkflow, member: FakeMember): void {
    const parents = member.needs.flatMap(({ of }) => (of.hasEnded ? of : []));
    const { ref, number } = member;
    const shown = { ...placeIn(workflow), ref, number, role: "member" } as const;
    try {
      member.job = this.#jobs.admit(member.given, { workflow: shown, parents, member });
      member.state = "active";
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      member.end("failed", "refused");
    }
  }

  #stop(workflow: FakeWorkflow, reason: "member_failed" | "cancelled"): void {
    workflow.state = "stopping";
    workflow.reason = reason;
    workflow.version++;
    workflow.skipHopeless();
    for (const { state, job } of workflow.members) {
      if (state === "active" && job && !job.hasEnded) this.#jobs.cancel(job);
    }
    this.#advance(workflow);
  }

  #end(workflow: FakeWorkflow, state: Outcome): void {
    workflow.state = state;
    if (state === "failed") workflow.reason ??= "member_failed";
    workflow.endedAt = this.#jobs.now();
    workflow.open = false;
    workflow.version++;
    const failed = workflow.members.filter((member) => member.state === "failed");
    const refs = failed.slice(0, MOST_FAILED).map(({ name }) => name);
    const counts = workflow.counts();
    const unnamed = { ref: null, number: null, role: "callback" } as const;
    const shown = { ...placeIn(workflow), ...unnamed, counts, failed: refs };
    for (const name of [state === "succeeded" ? "on_success" : "on_failure", "on_end"] as const) {
      const given = this.#callback(workflow, name);
      if (!given) continue;
      const place = { workflow: shown, parents: [], member: undefined };
      workflow.callbacks[name] = this.#jobs.admit(given, place).id;
    }
  }

  #callback(workflow: FakeWorkflow, name: (typeof CALLBACKS)[number]): Submission | undefined {
    const { [name]: job, defaults } = workflow.given;
    return job && ({ queue: workflow.queue, ...defaults, ...job } as Submission);
  }
}

function placeIn({
  id,
  given,
  state,
}: FakeWorkflow): Pick<wire.WorkflowOfClaim, "id" | "name" | "state" | "generation"> {
  return { id, name: given.name ?? null, state, generation: 1 };
}

function skipMember(member: FakeMember): void {
  if (member.state !== "blocked") throw conflict("the member is not blocked");
  member.end("skipped", "by_call");
}

const named = (ref = ""): string => decodeURIComponent(ref);

const conflict = (detail: string): Refusal => new Refusal(409, "invalid_state", detail);

const fault = (at: number, detail: string): FaultOfBody => ({ pointer: `/members/${at}`, detail });

function faultsOfJob(job: Submission | undefined, place: string): FaultOfBody[] {
  if (!job) return [];
  const unfit = Object.keys(UNFIT).filter((name) => name in job);
  return [
    ...unfit.map((name) => ({ pointer: `/${name}`, detail: `must be absent: ${UNFIT[name]}` })),
    ...faultsOf(job),
  ].map(({ pointer, detail }) => ({ pointer: `/${place}${pointer}`, detail }));
}

// Returns a member that needs itself, through those that are added with it.
function inCircle(added: FakeMember[]): FakeMember | undefined {
  const left = new Set(added);
  const isFree = (member: FakeMember): boolean => !member.needs.some(({ of }) => left.has(of));
  for (let free; (free = [...left].filter(isFree)).length > 0;) {
    for (const member of free) left.delete(member);
  }
  return [...left][0];
}

function pageOf<Item extends { number: number }>(
  found: Item[],
  limit: number,
  text: (item: Item) => string,
): Reply {
  const items = found.slice(0, limit).map(text).join(",");
  const next = found.length > limit ? String(found[limit - 1]?.number) : null;
  return { status: 200, text: `{"items":[${items}],"next_cursor":${JSON.stringify(next)}}` };
}
