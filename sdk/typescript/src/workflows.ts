import type { CallOptions } from "./call.js";
import { MOST_MEMBERS } from "./constants.js";
import { Operating } from "./operating.js";
import { ifMatch, name, page, pagesOf, query, time, type IfMatch } from "./requests.js";
import {
  FINAL_WORKFLOW_STATES,
  type GraphLine,
  type Member,
  type MemberJobSpec,
  type MemberDetail,
  type MemberState,
  type MembersAnswer,
  type NewMember,
  type NewWorkflow,
  type Page,
  type PageOptions,
  type Workflow,
  type WorkflowFilter,
  type WorkflowWhy,
} from "./types.js";
import { untilFinal } from "./waiting.js";
import { decode, encode } from "./wire.js";

/** The answer to the creation of a workflow. */
export interface CreatedWorkflow {
  /** The workflow as stored by the server. */
  workflow: Workflow;
  /** False if its id, idempotency key or unique key belongs to an existing workflow. */
  isNew: boolean;
}

/** Which members of a workflow to show, and what of them. */
export interface MembersOptions extends CallOptions, PageOptions {
  /** Only members in this state. */
  state?: MemberState | undefined;
  /** Additional members of each. */
  include?: ("job" | "result")[] | undefined;
}

// Members of a job that say one thing: if it has one of them, the defaults give it neither.
const TOGETHER = [
  ["runAt", "delay"],
  ["traceparent", "tracestate"],
] as const;

// Returns a job with the defaults, which count only within the request that creates a workflow.
function over(defaults: MemberJobSpec = {}, job: MemberJobSpec): MemberJobSpec {
  const taken = { ...defaults };
  for (const pair of TOGETHER) {
    if (pair.some((each) => job[each] !== undefined)) for (const each of pair) delete taken[each];
  }
  const given = Object.entries(job).filter(([, value]) => value !== undefined);
  return { ...taken, ...Object.fromEntries(given) };
}

/** The calls about workflows. */
export abstract class Workflows extends Operating {
  /** Returns a new id for a job or a workflow of this queue. */
  abstract makeId(queue?: string): string;

  /** @internal */
  protected abstract traceHeaders(): Record<string, string>;

  /**
   * Creates a workflow, all of it or nothing. The call is idempotent, and is retried after a lost
   * answer. More than 10,000 members go in several requests, in order, with a timeout each: the
   * workflow is open until the last of them, unless `open` says that it stays so. It has an id then;
   * throws a RangeError if it has an idempotency key instead.
   */
  async createWorkflow(workflow: NewWorkflow, options: CallOptions = {}): Promise<CreatedWorkflow> {
    const { idempotencyKey, members = [], ...rest } = workflow;
    const others = members.slice(MOST_MEMBERS);
    const hasOthers = others.length > 0;
    if (hasOthers && idempotencyKey !== undefined) {
      throw new RangeError(
        "a workflow of more than 10,000 members is created by its id: give it no idempotencyKey",
      );
    }
    const needsId = rest.id === undefined && idempotencyKey === undefined;
    const id = needsId ? this.makeId(rest.queue) : rest.id;
    const open = hasOthers || rest.open;
    const headers = this.traceHeaders();
    if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
    const first = { ...rest, id, open, members: members.slice(0, MOST_MEMBERS) };
    const call = { method: "POST", path: "/v1/workflows", headers };
    const answer = await this.send({ ...call, body: encode(first, this.link.codec) }, options);
    const stored = decode(answer.body) as Workflow;
    // The server can know an id made here only from an earlier try of this call.
    const isNew = answer.status === 201 || (needsId && stored.id === id);
    // It may be another one, which holds the unique key; or a repetition finds it complete.
    if (!hasOthers || stored.id !== id || !stored.open) return { workflow: stored, isNew };
    const complete = others.map((each) => ({ ...each, job: over(rest.defaults, each.job) }));
    await this.#addOthers(id, complete, rest.open !== true, options);
    return { workflow: await this.workflow(id, options), isNew };
  }

  // The keys follow from the id, so that whoever repeats the creation adds no member twice.
  async #addOthers(
    id: string,
    members: NewMember[],
    closes: boolean,
    options: CallOptions,
  ): Promise<void> {
    for (let from = 0; from < members.length; from += MOST_MEMBERS) {
      const close = closes && from + MOST_MEMBERS >= members.length;
      const idempotencyKey = `${id}/${from + MOST_MEMBERS}`;
      const part = members.slice(from, from + MOST_MEMBERS);
      await this.addMembers(id, part, { ...options, close, idempotencyKey });
    }
  }

  /** Returns a workflow in its current state. */
  workflow(
    id: string,
    options: CallOptions & { include?: "result"[] | undefined } = {},
  ): Promise<Workflow> {
    const parameters = query({ include: options.include });
    return this.ask("GET", `/v1/workflows/${name(id)}${parameters}`, options);
  }

  /**
   * Waits until the workflow has ended in any way; check its `state`. Rejects with `WaitTimeout`
   * after `timeout` milliseconds; without a timeout, it waits for ever.
   */
  waitWorkflow(id: string, options: CallOptions = {}): Promise<Workflow> {
    const path = `/v1/workflows/${name(id)}`;
    return untilFinal(this.link, path, FINAL_WORKFLOW_STATES, `workflow ${id}`, options);
  }

  /** Returns a page of the workflows, newest first. The list is at most 1 s behind. */
  workflows(
    filter: WorkflowFilter = {},
    options: CallOptions & PageOptions = {},
  ): Promise<Page<Workflow>> {
    const { createdAfter, createdBefore, ...plain } = filter;
    const parameters = query({
      ...plain,
      created_after: time(createdAfter),
      created_before: time(createdBefore),
      ...page(options),
    });
    return this.ask("GET", `/v1/workflows${parameters}`, options);
  }

  /** Iterates over all workflows of the list, fetched in pages of `limit`. */
  workflowsAll(
    filter: WorkflowFilter = {},
    options: CallOptions & PageOptions = {},
  ): AsyncGenerator<Workflow, void, undefined> {
    return pagesOf((each) => this.workflows(filter, each), options);
  }

  /** Returns a page of a workflow's members, by number. */
  workflowMembers(id: string, options: MembersOptions = {}): Promise<Page<Member>> {
    const { state, include } = options;
    const parameters = query({ state, include, ...page(options) });
    return this.ask("GET", `/v1/workflows/${name(id)}/members${parameters}`, options);
  }

  /** Iterates over all members of a workflow, fetched in pages of `limit`. */
  workflowMembersAll(
    id: string,
    options: MembersOptions = {},
  ): AsyncGenerator<Member, void, undefined> {
    return pagesOf((each) => this.workflowMembers(id, each), options);
  }

  /**
   * Returns a member with its definition. `ref` may be `@` and its number. With `wait`, in
   * milliseconds up to 60,000, the answer comes when the member has ended, or after that time.
   */
  workflowMember(
    id: string,
    ref: string,
    options: CallOptions & {
      include?: ("job" | "result")[] | undefined;
      wait?: number | undefined;
    } = {},
  ): Promise<MemberDetail> {
    const { include, wait, timeout = this.timeout + (wait ?? 0), signal } = options;
    const path = `/v1/workflows/${name(id)}/members/${name(ref)}`;
    return this.ask("GET", path + query({ include, wait_ms: wait }), { timeout, signal });
  }

  /** Returns a page of a workflow's members and what they need, 10,000 a page. */
  workflowGraph(
    id: string,
    options: CallOptions & Pick<PageOptions, "cursor"> = {},
  ): Promise<Page<GraphLine>> {
    const parameters = query({ cursor: options.cursor });
    return this.ask("GET", `/v1/workflows/${name(id)}/graph${parameters}`, options);
  }

  /** Iterates over all lines of a workflow's graph. */
  workflowGraphAll(
    id: string,
    options: CallOptions & Pick<PageOptions, "cursor"> = {},
  ): AsyncGenerator<GraphLine, void, undefined> {
    return pagesOf((each) => this.workflowGraph(id, each), options);
  }

  /** Returns why a workflow has not ended. */
  whyWorkflow(id: string, options: CallOptions = {}): Promise<WorkflowWhy> {
    return this.ask("GET", `/v1/workflows/${name(id)}/why`, options);
  }

  /**
   * Adds up to 10,000 members to a workflow that is open or, with `by`, to one whose member of that
   * ref is active. A ref that is there is left alone; members without refs get an idempotency key.
   */
  addMembers(
    id: string,
    members: NewMember[],
    options: CallOptions &
      IfMatch & {
        /** The member that adds them. */
        by?: string | undefined;
        /** Closes the workflow too. Default false. */
        close?: boolean | undefined;
        idempotencyKey?: string | undefined;
      } = {},
  ): Promise<MembersAnswer> {
    const { by, close } = options;
    const hasAllRefs = members.every((member) => member.ref !== undefined);
    const key = options.idempotencyKey ?? (hasAllRefs ? undefined : this.makeId());
    const headers = { ...this.traceHeaders(), ...ifMatch(options) };
    if (key !== undefined) headers["idempotency-key"] = key;
    const path = `/v1/workflows/${name(id)}/members`;
    return this.ask("POST", path, options, { members, by, close }, { headers });
  }

  /** Closes an open workflow: it takes no more members from outside, and may end. */
  closeWorkflow(id: string, options: CallOptions & IfMatch = {}): Promise<Workflow> {
    const headers = ifMatch(options);
    return this.ask("POST", `/v1/workflows/${name(id)}/close`, options, undefined, { headers });
  }

  /** Releases no more members, and tells the workers of running jobs. `reason`: 1,024 bytes. */
  cancelWorkflow(
    id: string,
    options: CallOptions & IfMatch & { reason?: string | undefined } = {},
  ): Promise<Workflow> {
    const path = `/v1/workflows/${name(id)}/cancel`;
    const body = encode({ reason: options.reason });
    const call = { method: "POST", path, body, headers: ifMatch(options) };
    return this.askOrFind(call, options, async () => {
      const workflow = await this.workflow(id, options);
      return workflow.state === "cancelled" ? workflow : undefined;
    });
  }

  /**
   * Runs failed members again, and what was skipped because of them. After the workflow's end this
   * begins a new generation of it, with its callbacks.
   */
  retryWorkflow(
    id: string,
    options: CallOptions &
      IfMatch & {
        /** The members to retry. Default those whose failure no other member has caught. */
        refs?: string[] | undefined;
        /** Resets `attempt` of their jobs to 0. Default true. */
        resetAttempts?: boolean | undefined;
        /** Takes from their jobs limits that no longer exist. Default false. */
        dropLimits?: boolean | undefined;
      } = {},
  ): Promise<Workflow> {
    const { refs, resetAttempts, dropLimits } = options;
    const more = { headers: ifMatch(options), repeat: "unless_begun" } as const;
    const body = { refs, resetAttempts, dropLimits };
    return this.ask("POST", `/v1/workflows/${name(id)}/retry`, options, body, more);
  }

  /** Skips a blocked member: what needs its success is skipped too. */
  skipMember(id: string, ref: string, options: CallOptions & IfMatch = {}): Promise<Workflow> {
    const path = `/v1/workflows/${name(id)}/members/${name(ref)}/skip`;
    const call = { method: "POST", path, headers: ifMatch(options) };
    return this.askOrFind(call, options, async () => {
      const member = await this.workflowMember(id, ref, options);
      return member.state === "skipped" ? this.workflow(id, options) : undefined;
    });
  }

  /** Deletes a workflow that has ended, with the jobs of its members. */
  async deleteWorkflow(id: string, options: CallOptions & IfMatch = {}): Promise<void> {
    const path = `/v1/workflows/${name(id)}`;
    await this.send({ method: "DELETE", path, headers: ifMatch(options) }, options);
  }
}
