// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;
import java.util.Map;

/**
 * A limit as the server shows it, with its use. Members that have no value are null.
 *
 * @param name its name
 * @param perKey whether each key has slots and a bucket of its own
 * @param keys other bounds by key; an absent bound is the same as for every key
 * @param version rises with every change; {@code ETag} and {@code If-Match} carry it
 * @param concurrency The most live leases at a time; null is no bound. 1 to 1,000,000.
 * @param rate the rate of starts; null is no bound
 * @param breaker null is none
 * @param retryRate a retry budget: the rate of starts after a job's first; null is no bound
 * @param paused whether it is paused
 * @param pauseReason why it is paused
 * @param pausedUntil when the pause ends by itself
 * @param inUse live leases
 * @param waiting the number of ready jobs that name it
 * @param nextTokenAt when the rate allows the next start; null when it does now, or there is none
 * @param breakerState null without a breaker
 * @param openUntil when an open breaker lets probes through
 * @param blockedUntil the end of a pause, or of a worker's {@code slow_down}; the later one
 */
public record Limit(
    String name,
    boolean perKey,
    Map<String, KeyBound> keys,
    long version,
    Integer concurrency,
    Rate rate,
    Breaker breaker,
    Rate retryRate,
    boolean paused,
    String pauseReason,
    Instant pausedUntil,
    long inUse,
    long waiting,
    Instant nextTokenAt,
    String breakerState,
    Instant openUntil,
    Instant blockedUntil) {
  /**
   * The bounds of one key, which replace those of the limit.
   *
   * @param concurrency 1 to 1,000,000
   * @param rate a token bucket of starts
   */
  public record KeyBound(Integer concurrency, Rate rate) {}
}
