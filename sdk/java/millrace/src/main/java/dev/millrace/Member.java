// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * A member of a workflow. Members that have no value are null.
 *
 * @param number its place in the workflow, from 0
 * @param ref null if it has none
 * @param state {@code blocked} waits for what it needs; {@code active} has a job that has not
 *     ended. {@code skipped}: a need can't be met any more, the workflow stopped, or a call skipped
 *     it.
 * @param reason Why a member has failed or was skipped; null if nothing is known. {@code refused}:
 *     its job was, at its release. {@code by_call}: a call, or the ack of a member that it needs,
 *     skipped it. {@code growth_refused}: its job succeeded, and the workflow refused what the ack
 *     added.
 * @param generation how often it was released
 * @param queue The queue of its job. Left out, as is what follows, if the token does not open it.
 * @param jobId null until it is released
 * @param job with {@code include=job}, unless there is none
 * @param result with {@code include=result}; null if there is none
 * @param redacted Jobs of queues that the token does not open, or results that it may not see, are
 *     left out. Always {@code true}.
 */
public record Member(
    long number,
    String ref,
    MemberState state,
    String reason,
    long generation,
    String queue,
    String jobId,
    Job job,
    Json result,
    boolean redacted) {
  /** What an answer contains only on request. */
  public enum Include {
    /** The job of each member. */
    JOB,
    /** The result of each member's job. */
    RESULT
  }
}
