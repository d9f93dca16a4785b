import type { JsonCodec } from "../json.js";
import type * as wire from "../wire-shapes.js";
import type { FakeJob } from "./fake-job.js";
import { Refusal } from "./refusal.js";
import type { Submission } from "./submission.js";

type State = wire.WorkflowState;
type MemberState = wire.MemberState;
/** How a workflow ends. */
export type Outcome = "succeeded" | "failed" | "cancelled";

const ENDED: ReadonlySet<MemberState> = new Set(["succeeded", "failed", "skipped"]);
const FINAL: ReadonlySet<State> = new Set(["succeeded", "failed", "cancelled"]);

const MOST_RESULTS = 1 << 20;

/** A need that a member has of another one. */
export interface Need {
  of: FakeMember;
  on: wire.NeedOn;
}

/** A member of a workflow of the fake. */
export class FakeMember {
  state: MemberState = "blocked";
  reason: wire.MemberReason | null = null;
  needs: Need[] = [];
  job: FakeJob | undefined;

  constructor(
    readonly number: number,
    readonly ref: string | null,
    /** With the defaults of its workflow. */
    readonly given: Submission,
    readonly needsAny: boolean,
  ) {}

  get hasEnded(): boolean {
    return ENDED.has(this.state);
  }

  /** Its ref, else `@` and its number. */
  get name(): string {
    return this.ref ?? `@${this.number}`;
  }

  end(state: MemberState, reason: wire.MemberReason | null): void {
    this.state = state;
    this.reason = reason;
  }

  /** Whether it starts or is skipped, by what it needs; undefined if that is open. */
  fate(): "released" | "skipped" | undefined {
    const ended = this.needs.filter(({ of }) => of.hasEnded);
    const met = ended.filter(({ of, on }) => on === "ended" || of.state === on);
    const isAll = ended.length === this.needs.length;
    if (this.needsAny) return met.length > 0 ? "released" : isAll ? "skipped" : undefined;
    if (met.length < ended.length) return "skipped";
    return isAll ? "released" : undefined;
  }

  /** Returns the member in the API's form, as JSON text. */
  text(include: string[], isWhole: boolean): string {
    const { job, given } = this;
    const view: Record<string, unknown> = {
      number: this.number,
      ref: this.ref,
      state: this.state,
      reason: this.reason,
      generation: job ? 1 : 0,
      queue: given.queue,
      job_id: job?.id ?? null,
    };
    const more: string[] = [];
    if (include.includes("job") && job) more.push(`"job":${job.text([])}`);
    if (include.includes("result")) more.push(`"result":${job?.result ?? "null"}`);
    if (isWhole) {
      view["needs"] = this.needs.map(({ of, on }) => ({ ref: of.name, on }));
      view["needs_any"] = this.needsAny;
      view["waits_for"] = this.needs.flatMap(({ of }) => (of.hasEnded ? [] : of.name)).slice(0, 20);
      const { payload = "null", ...definition } = given;
      more.push(`"definition":${withRaw(definition, [`"payload":${payload}`])}`);
    }
    return withRaw(view, more);
  }
}

/** A workflow of the fake: a graph of members, whose jobs are the fake's. */
export class FakeWorkflow {
  readonly members: FakeMember[] = [];
  readonly callbacks: Record<string, string> = {};
  readonly queue: string;
  state: State = "running";
  reason: "member_failed" | "cancelled" | null = null;
  cancelReason: string | undefined;
  version = 1;
  open: boolean;
  endedAt: number | null = null;
  readonly #byName = new Map<string, FakeMember>();

  constructor(
    readonly given: wire.WorkflowInput,
    readonly id: string,
    /** The order of creation. */
    readonly number: number,
    readonly createdAt: number,
  ) {
    this.queue = given.queue ?? "default";
    this.open = given.open ?? false;
  }

  get hasEnded(): boolean {
    return FINAL.has(this.state);
  }

  /** Returns the member of this ref, or of `@` and a number. */
  find(name: string): FakeMember | undefined {
    return this.#byName.get(name);
  }

  found(name: string): FakeMember {
    const member = this.find(name);
    if (!member) throw new Refusal(404, "not_found", "the workflow has no such member");
    return member;
  }

  add(members: FakeMember[]): void {
    for (const member of members) {
      this.members.push(member);
      this.#byName.set(`@${member.number}`, member);
      if (member.ref !== null) this.#byName.set(member.ref, member);
    }
  }

  counts(): wire.MemberCounts {
    const counts = { blocked: 0, active: 0, succeeded: 0, failed: 0, skipped: 0 };
    for (const { state } of this.members) counts[state]++;
    return counts;
  }

  /** Skips what can't be released any more, and so on down the graph. */
  skipHopeless(): void {
    const reason = this.state === "stopping" ? "cancelled" : null;
    const isHopeless = (member: FakeMember): boolean =>
      member.state === "blocked" && (reason !== null || member.fate() === "skipped");
    for (let found; (found = this.members.filter(isHopeless)).length > 0;) {
      for (const member of found) member.end("skipped", reason);
    }
  }

  /** The members that may be released now, no more than `max_active` allows. */
  releasable(): FakeMember[] {
    const isReady = (member: FakeMember): boolean =>
      member.state === "blocked" && member.fate() === "released";
    const room = (this.given.max_active ?? Infinity) - this.counts().active;
    return this.members.filter(isReady).slice(0, Math.max(room, 0));
  }

  /** Whether a member has failed that no other can catch any more, and that stops the workflow. */
  get isToStop(): boolean {
    if (this.state !== "running" || this.given.on_member_failed !== "stop") return false;
    return this.#uncaught().some(
      (member) => !this.#catchers(member).some(({ state }) => state === "blocked"),
    );
  }

  /** How it ends, if it does now. */
  outcome(): Outcome | undefined {
    if (this.hasEnded || !this.members.every((member) => member.hasEnded)) return undefined;
    if (this.state === "stopping") return this.reason === "cancelled" ? "cancelled" : "failed";
    if (this.open) return undefined;
    const isFine = this.given.on_member_failed === "ignore" || this.#uncaught().length === 0;
    return isFine ? "succeeded" : "failed";
  }

  // The members that need the failure of this one.
  #catchers(failed: FakeMember): FakeMember[] {
    return this.members.filter(({ needs }) =>
      needs.some(({ of, on }) => of === failed && on === "failed"),
    );
  }

  // The members whose failure has released no other.
  #uncaught(): FakeMember[] {
    return this.members.filter(
      (member) =>
        member.state === "failed" && !this.#catchers(member).some(({ job }) => job !== undefined),
    );
  }

  /** Returns the workflow in the API's form, as JSON text. */
  text(include: string[]): string {
    const { given } = this;
    const endedAt = this.endedAt === null ? null : new Date(this.endedAt).toISOString();
    const view = {
      id: this.id,
      name: given.name ?? null,
      queue: this.queue,
      state: this.state,
      reason: this.reason,
      cancel_reason: this.cancelReason,
      generation: 1,
      version: this.version,
      open: this.open,
      created_at: new Date(this.createdAt).toISOString(),
      timeout_at: null,
      ended_at: endedAt,
      members: this.members.length,
      counts: this.counts(),
      callbacks: this.callbacks,
      tags: given.tags ?? [],
      meta: given.meta ?? {},
      on_member_failed: given.on_member_failed ?? "continue",
      max_active: given.max_active ?? null,
      timeout_ms: null,
      result_from: given.result_from ?? null,
      keep_members: given.keep_members ?? true,
      unique: given.unique ? { key: given.unique.key } : null,
    };
    if (!include.includes("result")) return JSON.stringify(view);
    const from = given.result_from === undefined ? undefined : this.find(given.result_from);
    return withRaw(view, [`"result":${from?.job?.result ?? "null"}`]);
  }
}

/** Returns the parents of a job by ref, with results of at most 1 MiB together. */
export function parentsOf(members: FakeMember[], codec: JsonCodec): Record<string, wire.Parent> {
  let size = 0;
  return Object.fromEntries(
    members.map(({ name, state, reason, job }) => {
      const parent: wire.Parent = { id: job?.id ?? null, state, reason };
      if (state !== "succeeded") return [name, parent];
      const result = job?.result ?? "null";
      if (size + result.length > MOST_RESULTS) return [name, { ...parent, omitted: "size" }];
      size += result.length;
      return [name, { ...parent, result: codec.parse(result) }];
    }),
  );
}

function withRaw(view: object, more: string[]): string {
  const text = JSON.stringify(view);
  return more.length ? `${text.slice(0, -1)}${text === "{}" ? "" : ","}${more.join(",")}}` : text;
}
