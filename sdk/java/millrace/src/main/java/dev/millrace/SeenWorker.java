// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A worker as the server sees it.
 *
 * @param id The worker's id; if its token is limited to queues, followed by {@code ~} and the
 *     token's id. Use this name to tell the worker to be quiet or to stop.
 * @param queues the queues that it claims from
 * @param types null if the worker takes every type
 * @param state its state
 * @param firstSeenAt when it was first seen
 * @param lastSeenAt when it was last seen
 * @param running the jobs that it holds
 * @param host its machine
 * @param pid its process id
 * @param sdk its SDK
 * @param version the version of the user's program, not of the SDK
 * @param labels its labels
 */
public record SeenWorker(
    String id,
    List<String> queues,
    List<String> types,
    String state,
    Instant firstSeenAt,
    Instant lastSeenAt,
    List<RunningJob> running,
    String host,
    Integer pid,
    String sdk,
    String version,
    Map<String, String> labels) {
  /**
   * A job that a worker holds a lease on.
   *
   * @param id its id
   * @param queue the queue's name
   * @param type the type's name
   * @param attempt the attempt's number
   * @param startedAt when the attempt began
   * @param leaseExpiresAt when its lease ends
   */
  public record RunningJob(
      String id,
      String queue,
      String type,
      int attempt,
      Instant startedAt,
      Instant leaseExpiresAt) {}
}
