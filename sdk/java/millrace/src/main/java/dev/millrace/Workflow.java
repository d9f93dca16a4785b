// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A workflow as the server shows it. Members that have no value are null.
 *
 * @param id a UUIDv7
 * @param name its name
 * @param queue the queue of the workflow itself
 * @param state {@code stopping}: nothing more is released, and running jobs are told. {@code
 *     succeeded}, {@code failed} and {@code cancelled} are final; a retry brings a failed or
 *     cancelled workflow back. No workflow has the states {@code compensating} and {@code stuck}
 *     yet.
 * @param reason why it stops, or has failed; null if it does not
 * @param cancelReason As the cancellation gave it. Left out if it gave none.
 * @param generation grows with each retry after the end
 * @param version grows with each change of the workflow itself, not with those of its members
 * @param open whether it takes members from outside
 * @param createdAt when it was made
 * @param timeoutAt when this generation times out; null if it does not
 * @param endedAt null until it has ended
 * @param members the number of members
 * @param counts the number of members by state
 * @param callbacks the ids of the callbacks' jobs, once they are submitted
 * @param tags at most 32 entries
 * @param meta the client's own strings, at most 8 KiB
 * @param onMemberFailed {@code continue}: what hangs on it is skipped. {@code stop}: once nothing
 *     can catch it, what waits is skipped, and running jobs are cancelled. {@code ignore}: as
 *     {@code continue}, but the workflow succeeds.
 * @param maxActive null if there is no bound
 * @param timeout null if there is none
 * @param resultFrom the ref of the member whose result is the workflow's; null if there is none
 * @param keepMembers whether the members' jobs stay until the workflow goes
 * @param unique null if it has no unique key
 * @param result with {@code include=result}; null until there is one
 * @param redacted Jobs of queues that the token does not open, or results that it may not see, are
 *     left out. Always {@code true}.
 */
public record Workflow(
    String id,
    String name,
    String queue,
    WorkflowState state,
    String reason,
    String cancelReason,
    long generation,
    long version,
    boolean open,
    Instant createdAt,
    Instant timeoutAt,
    Instant endedAt,
    long members,
    MemberCounts counts,
    WorkflowCallbacks callbacks,
    List<String> tags,
    Map<String, String> meta,
    OnMemberFailed onMemberFailed,
    Long maxActive,
    Duration timeout,
    String resultFrom,
    boolean keepMembers,
    WorkflowUnique unique,
    Json result,
    boolean redacted) {
  /** What an answer contains only on request. */
  public enum Include {
    /** The result. */
    RESULT
  }
}
