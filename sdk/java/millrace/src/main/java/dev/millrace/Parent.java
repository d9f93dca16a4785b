// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * A member that the job's member needs, as it ended.
 *
 * @param id its job; null if it never had one
 * @param state {@code blocked} waits for what it needs; {@code active} has a job that has not
 *     ended. {@code skipped}: a need can't be met any more, the workflow stopped, or a call skipped
 *     it.
 * @param reason Why a member has failed or was skipped; null if nothing is known. {@code refused}:
 *     its job was, at its release. {@code by_call}: a call, or the ack of a member that it needs,
 *     skipped it. {@code growth_refused}: its job succeeded, and the workflow refused what the ack
 *     added.
 * @param result If it succeeded. Together at most 1 MiB with a job.
 * @param omitted why the result is left out: {@code size}, or {@code unreachable} for now, or its
 *     job is {@code pruned}
 */
public record Parent(String id, String state, String reason, Json result, String omitted) {}
