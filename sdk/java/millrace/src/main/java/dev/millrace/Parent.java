// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.lang.reflect.Type;

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
public record Parent(String id, MemberState state, String reason, Json result, String omitted) {
  /** Converts the result. The errors name the parent by its ref. */
  <T> T resultAs(String ref, Type type) {
    if (state != MemberState.SUCCEEDED) {
      String how = JobFilter.words(state) + (reason == null ? "" : ", " + reason);
      throw new IllegalStateException("the parent " + ref + " has no result: it is " + how + job());
    }
    if (omitted != null) {
      throw new IllegalStateException("the result of " + ref + " is left out: " + why() + job());
    }
    if (result == null) return null;
    try {
      return result.as(type);
    } catch (CodecException misfit) {
      String message = "the result of " + ref + " is no " + type.getTypeName() + ": ";
      throw new CodecException(message + misfit.getMessage(), misfit);
    }
  }

  private String job() {
    return id == null ? "; it never had a job" : "; its job is " + id;
  }

  private String why() {
    return switch (omitted) {
      case "size" -> "it is too large for a claim, so get the job";
      case "unreachable" -> "its shard did not answer, so get the job, or try again";
      case "pruned" -> "the job is gone; the workflow must keep its members";
      default -> omitted;
    };
  }
}
