import type { MemberJobSpec, NeedSpec, NewMember, NewWorkflow } from "./types.js";

/** What a member waits for, beside its job. */
export interface MemberOptions {
  /** Handles of members, their refs, or a certain end of theirs: `load.failed`. */
  needs?: (NeedSpec | string)[];
  /** The first need that is met releases the member. Default false. */
  needsAny?: boolean;
}

/** A member that others may need: it stands for its success. */
export class MemberHandle implements NeedSpec {
  /** @internal */
  constructor(readonly ref: string) {}

  /** The need that the member fails. Who is released by it catches the failure. */
  get failed(): NeedSpec {
    return { ref: this.ref, on: "failed" };
  }

  /** The need that the member ends in any way, also skipped. */
  get ended(): NeedSpec {
    return { ref: this.ref, on: "ended" };
  }
}

export interface WorkflowBuilder extends NewWorkflow {}

/**
 * A workflow for `createWorkflow`, member after member. What else it has may be given with its name,
 * or be set: `flow.onFailure = page.make()`.
 */
export class WorkflowBuilder {
  readonly members: NewMember[] = [];
  readonly #refs = new Set<string>();

  constructor(name?: string, options: Omit<NewWorkflow, "name" | "members"> = {}) {
    Object.assign(this, { ...options, name });
  }

  /**
   * Adds a member, and returns what others need of it. Throws a RangeError for a ref that is there,
   * and a TypeError for a job with what a member's job can't have.
   */
  add(ref: string, job: MemberJobSpec, options?: MemberOptions): MemberHandle;
  /** Adds a member that no other can need. */
  add(job: MemberJobSpec, options?: MemberOptions): void;
  add(
    first: string | MemberJobSpec,
    second?: MemberJobSpec | MemberOptions,
    third?: MemberOptions,
  ): MemberHandle | undefined {
    if (typeof first !== "string") {
      this.members.push({ ...(second as MemberOptions), job: fit(first) });
      return undefined;
    }
    if (this.#refs.has(first)) throw new RangeError(`there is a member ${first} already`);
    this.members.push({ ...third, ref: first, job: fit(second as MemberJobSpec) });
    this.#refs.add(first);
    return new MemberHandle(first);
  }
}

// What a member's job can't have, and what to do instead.
const UNFIT: [string, string][] = [
  ["id", "the server makes the ids of its jobs"],
  ["unique", "set unique of the workflow, or a limit of the job"],
  ["expiresAt", "set expiresIn, which counts from the job's release"],
  ["idempotencyKey", "give the key to the workflow"],
];

/** @internal Returns the job of a member. Throws a TypeError if it can't be one. */
export function fit(job: MemberJobSpec): MemberJobSpec {
  for (const [name, instead] of UNFIT) {
    if ((job as Record<string, unknown>)[name] !== undefined) {
      throw new TypeError(`the job of a member has no ${name}: ${instead}`);
    }
  }
  return job;
}
