// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.util.List;

/**
 * Says how long a failed job waits for its next attempt.
 *
 * @param strategy how the delay grows
 * @param base The first delay. Default {@code 5000}. At most 10 years.
 * @param max The longest delay. Default {@code 300000}. At most 10 years.
 * @param jitter The part by which a delay varies either way. Default {@code 0.2}. 0 to 1.
 * @param delays The delay after each attempt; the last one repeats. 1 to 100 entries.
 */
public record RetryPolicy(
    Strategy strategy, Duration base, Duration max, Double jitter, List<Duration> delays) {

  /** How the delay grows. */
  public enum Strategy {
    /** {@code base * 2^(n-1)} after attempt n. */
    EXPONENTIAL,
    /** {@code base * n} after attempt n. */
    LINEAR,
    /** Always {@code base}. */
    FIXED,
    /** A list of delays. */
    LIST
  }

  /**
   * Doubles the delay with each attempt, with a jitter of 0.2.
   *
   * @param base the first delay
   * @param max the longest delay
   * @return the policy
   */
  public static RetryPolicy exponential(Duration base, Duration max) {
    return new RetryPolicy(Strategy.EXPONENTIAL, base, max, 0.2, null);
  }

  /**
   * Adds the same time to the delay with each attempt, with a jitter of 0.2.
   *
   * @param base the first delay, and the time added
   * @param max the longest delay
   * @return the policy
   */
  public static RetryPolicy linear(Duration base, Duration max) {
    return new RetryPolicy(Strategy.LINEAR, base, max, 0.2, null);
  }

  /**
   * Waits the same time before each attempt, without jitter.
   *
   * @param delay the delay
   * @return the policy
   */
  public static RetryPolicy fixed(Duration delay) {
    return new RetryPolicy(Strategy.FIXED, delay, delay, 0.0, null);
  }

  /**
   * Waits the listed times.
   *
   * @param delays 1 to 100 delays; the last one repeats
   * @return the policy
   */
  public static RetryPolicy list(Duration... delays) {
    return new RetryPolicy(Strategy.LIST, null, null, null, List.of(delays));
  }

  /**
   * Returns the same policy with another jitter.
   *
   * @param part from 0 to 1
   * @return the policy
   */
  public RetryPolicy withJitter(double part) {
    return new RetryPolicy(strategy, base, max, part, delays);
  }
}
