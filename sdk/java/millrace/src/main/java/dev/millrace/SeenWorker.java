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
 * @param queues queues
 * @param types null if the worker takes every type
 * @param state state
 * @param firstSeenAt first seen at
 * @param lastSeenAt last seen at
 * @param running running
 * @param host host
 * @param pid pid
 * @param sdk sdk
 * @param version the version of the user's program, not of the SDK
 * @param labels labels
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
   * @param id id
   * @param queue queue
   * @param type type
   * @param attempt attempt
   * @param startedAt started at
   * @param leaseExpiresAt lease expires at
   */
  public record RunningJob(
      String id,
      String queue,
      String type,
      int attempt,
      Instant startedAt,
      Instant leaseExpiresAt) {}
}
