// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;
import java.util.List;

/**
 * Why a workflow has not ended.
 *
 * @param id its id
 * @param state {@code stopping}: nothing more is released, and running jobs are told. {@code
 *     succeeded}, {@code failed} and {@code cancelled} are final; a retry brings a failed or
 *     cancelled workflow back. No workflow has the states {@code compensating} and {@code stuck}
 *     yet.
 * @param at when it was
 * @param summary sentences for a person
 * @param blocking everything that it waits for
 * @param redacted Jobs of queues that the token does not open, or results that it may not see, are
 *     left out. Always {@code true}.
 */
public record WorkflowWhy(
    String id,
    WorkflowState state,
    Instant at,
    String summary,
    List<Blocking> blocking,
    boolean redacted) {
  /**
   * What a workflow waits for. Members that do not apply are null.
   *
   * @param code {@code open}: it is not closed. {@code active}: members have jobs that have not
   *     ended. {@code max_active}: members wait, because as many as that are active. {@code
   *     releasing}: members are about to be submitted. {@code in_transit}: jobs are on the way to
   *     another shard. {@code overloaded}: the server's memory is full. {@code ended}: the workflow
   *     has.
   * @param shard the shard to which the jobs are on the way
   * @param count how many
   * @param jobs The first 20 of them. Left out for a token that is limited to queues.
   */
  public record Blocking(String code, Long shard, Long count, List<String> jobs) {}
}
