/** The exports that both entries of the package share. */
export type { CallOptions } from "./call.js";
export type { ClientOptions, Submitted, TraceContext } from "./client.js";
export type { Context, JobLog, RunningJob } from "./context.js";
export {
  DuplicateJob,
  DuplicateWorkflow,
  Forbidden,
  IdempotencyMismatch,
  IdMismatch,
  InvalidState,
  KeyFull,
  LeaseLost,
  MillraceError,
  NotFound,
  PayloadTooLarge,
  QueueFull,
  RateLimited,
  Unauthenticated,
  Unavailable,
  Unreachable,
  ValidationFailed,
  VersionConflict,
  WaitTimeout,
  type Fault,
} from "./errors.js";
export type { Handler, Middleware } from "./handling.js";
export { JobType, type Schemas } from "./job-type.js";
export { exactJson, plainJson, RawJson, type JsonCodec } from "./json.js";
export type { BatchItem, BulkAnswer, EventFilter, StatsOptions } from "./operating.js";
export {
  cancel,
  Cancel,
  NonRetryable,
  retryAfter,
  RetryAfter,
  snooze,
  Snooze,
  Stopped,
  type Ending,
  type StopReason,
} from "./outcome.js";
export { NoResult } from "./parents.js";
export type { IfMatch, Parameter } from "./requests.js";
export { PayloadError, ResultError } from "./schema.js";
export type { SchemaIssue, SchemaResult, StandardSchema } from "./schema.js";
export type { SqlConnection } from "./sql.js";
export type * from "./types.js";
export { MemberHandle, WorkflowBuilder, type MemberOptions } from "./workflow-builder.js";
export type { CreatedWorkflow, MembersOptions } from "./workflows.js";
export { VERSION } from "./version.js";
