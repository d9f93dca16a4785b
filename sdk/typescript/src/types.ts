/**
 * The values that the API accepts and returns. Durations are numbers of milliseconds. Times are RFC
 * 3339 text in UTC with milliseconds; times sent to the server may also be a `Date`.
 */
import type { JobState, NewJob, WorkflowSpec, WorkflowState } from "./shapes.js";

export type * from "./shapes.js";

/** A time to send to the server: RFC 3339 with any offset, or a `Date`. */
export type TimeInput = string | Date;

/** The states that a job leaves only by a manual retry. */
export const FINAL_STATES: ReadonlySet<string> = new Set([
  "succeeded",
  "dead",
  "cancelled",
  "expired",
  "pruned",
]);

/** The states that a workflow leaves only by a manual retry. */
export const FINAL_WORKFLOW_STATES: ReadonlySet<string> = new Set([
  "succeeded",
  "failed",
  "cancelled",
]);

/** A workflow to create, of any number of members. `WorkflowBuilder` makes one. */
export interface NewWorkflow extends WorkflowSpec {
  /** Makes a repetition harmless, in place of `id`. 1 to 255 visible ASCII characters. */
  idempotencyKey?: string;
}

/** The members of a submission other than its type and payload. */
export type SubmitOptions = Omit<NewJob, "type" | "payload">;

/** The members that a call adds to a job. */
export type Include = "payload" | "result" | "attempts" | "logs" | "events";

/** One page of a list. */
export interface Page<Item> {
  /** In the order of the list. */
  items: Item[];
  /** Null on the last page. */
  nextCursor: string | null;
}

/** Selects a page of a list. */
export interface PageOptions {
  /** The maximum number of items in a page, 1 to 1,000. Default 50. */
  limit?: number;
  /** The `nextCursor` of the previous page. */
  cursor?: string;
}

/** Selects jobs of a list. All given conditions must hold. */
export interface JobFilter {
  /** A state, or several alternatives. */
  state?: JobState | JobState[];
  /** The queue's name. */
  queue?: string;
  /** The type's name. */
  type?: string;
  /** One of the job's tags. */
  tag?: string;
  /** Submitted at this time or later. */
  createdAfter?: TimeInput;
  /** Submitted before this time. */
  createdBefore?: TimeInput;
  /** A search, such as `state:dead error~timeout payload.user.id:42`. */
  q?: string;
  /** Waits until the list shows all changes acknowledged before the call. Default false. */
  fresh?: boolean;
  /** Additional members of each job. */
  include?: ("payload" | "result")[];
}

/** Selects workflows of a list. All given conditions must hold. */
export interface WorkflowFilter {
  /** A state, or several alternatives. */
  state?: WorkflowState | WorkflowState[];
  /** The name of the workflow's own queue. */
  queue?: string;
  /** The workflow's name. */
  name?: string;
  /** One of the workflow's tags. */
  tag?: string;
  /** Created at this time or later. */
  createdAfter?: TimeInput;
  /** Created before this time. */
  createdBefore?: TimeInput;
  /** Waits until the list shows all changes acknowledged before the call. Default false. */
  fresh?: boolean;
}
