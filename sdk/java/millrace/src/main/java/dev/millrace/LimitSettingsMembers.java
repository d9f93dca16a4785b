// Made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.util.Map;
import java.util.TreeMap;

/** The members of LimitSettings that are set one by one. */
abstract class LimitSettingsMembers extends Members<LimitSettings> {
  LimitSettingsMembers(Map<String, Object> named) {
    super(named);
  }

  /**
   * Sets {@code perKey} of the limit.
   *
   * @param perKey Each key has slots and a bucket of its own. Default {@code false}.
   * @return a changed copy
   */
  public LimitSettings perKey(boolean perKey) {
    return with("per_key", perKey);
  }

  /**
   * Sets {@code keys} of the limit.
   *
   * @param keys other bounds by key; an absent bound is the same as for every key
   * @return a changed copy
   */
  public LimitSettings keys(Map<String, Limit.KeyBound> keys) {
    return with("keys", new TreeMap<>(keys));
  }

  /**
   * Sets {@code concurrency} of the limit.
   *
   * @param concurrency The most live leases at a time; null is no bound. 1 to 1,000,000.
   * @return a changed copy
   */
  public LimitSettings concurrency(Integer concurrency) {
    return with("concurrency", concurrency);
  }

  /**
   * Sets {@code rate} of the limit.
   *
   * @param rate the rate of starts; null is no bound
   * @return a changed copy
   */
  public LimitSettings rate(Rate rate) {
    return with("rate", rate);
  }

  /**
   * Sets {@code breaker} of the limit.
   *
   * @param breaker null is none
   * @return a changed copy
   */
  public LimitSettings breaker(Breaker breaker) {
    return with("breaker", breaker);
  }

  /**
   * Sets {@code retryRate} of the limit.
   *
   * @param retryRate a retry budget: the rate of starts after a job's first; null is no bound
   * @return a changed copy
   */
  public LimitSettings retryRate(Rate retryRate) {
    return with("retry_rate", retryRate);
  }
}
