// Made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The members of QueueSettings that are set one by one. */
abstract class QueueSettingsMembers extends Members<QueueSettings> {
  QueueSettingsMembers(Map<String, Object> named) {
    super(named);
  }

  /**
   * Sets {@code limits} of the queue.
   *
   * @param limits Added to each job that is submitted to the queue. At most 8 entries.
   * @return a changed copy
   */
  public QueueSettings limits(QueueLimit... limits) {
    return with("limits", List.of(limits));
  }

  /**
   * Sets {@code maxAttempts} of the queue.
   *
   * @param maxAttempts For jobs that do not set their own. Default 5. 1 to 1,000.
   * @return a changed copy
   */
  public QueueSettings maxAttempts(int maxAttempts) {
    return with("max_attempts", maxAttempts);
  }

  /**
   * Sets {@code maxCrashes} of the queue.
   *
   * @param maxCrashes A job that loses its worker this many times is dead, {@code worker_lost}.
   *     Default the job's {@code maxAttempts}. 1 to 1,000.
   * @return a changed copy
   */
  public QueueSettings maxCrashes(Integer maxCrashes) {
    return with("max_crashes", maxCrashes);
  }

  /**
   * Sets {@code retry} of the queue.
   *
   * @param retry for jobs that do not set their own
   * @return a changed copy
   */
  public QueueSettings retry(RetryPolicy retry) {
    return with("retry", retry);
  }

  /**
   * Sets {@code lease} of the queue.
   *
   * @param lease For jobs and claims that do not set their own. Default 30,000. 1,000 to 86,400,000
   *     ms.
   * @return a changed copy
   */
  public QueueSettings lease(Duration lease) {
    return with("lease_ms", lease);
  }

  /**
   * Sets {@code maxReady} of the queue.
   *
   * @param maxReady the most ready jobs; beyond it submissions are 429 {@code queue_full}; null is
   *     no bound
   * @return a changed copy
   */
  public QueueSettings maxReady(Long maxReady) {
    return with("max_ready", maxReady);
  }

  /**
   * Sets {@code concurrency} of the queue.
   *
   * @param concurrency The most jobs of the queue that run together; null is no bound. 1 to
   *     1,000,000.
   * @return a changed copy
   */
  public QueueSettings concurrency(Integer concurrency) {
    return with("concurrency", concurrency);
  }

  /**
   * Sets {@code rate} of the queue.
   *
   * @param rate the most jobs that start in each period; null is no bound
   * @return a changed copy
   */
  public QueueSettings rate(Rate rate) {
    return with("rate", rate);
  }

  /**
   * Sets {@code breaker} of the queue.
   *
   * @param breaker the breaker for all attempts of the queue; null is none
   * @return a changed copy
   */
  public QueueSettings breaker(Breaker breaker) {
    return with("breaker", breaker);
  }

  /**
   * Sets {@code fair} of the queue.
   *
   * @param fair If null, fair keys have no effect. Not together with {@code ageing}.
   * @return a changed copy
   */
  public QueueSettings fair(Fair fair) {
    return with("fair", fair);
  }

  /**
   * Sets {@code ageing} of the queue.
   *
   * @param ageing A job gains one step of priority for each such time that it waits; null:
   *     priorities are strict. Not together with {@code fair}. A change sorts at most 1,000,000
   *     ready jobs again, and is 409 beyond that. 1,000 to 86,400,000 ms.
   * @return a changed copy
   */
  public QueueSettings ageing(Duration ageing) {
    return with("ageing_ms", ageing);
  }

  /**
   * Sets {@code maxReadyPerKey} of the queue.
   *
   * @param maxReadyPerKey The most ready jobs of one {@code fair_key}; beyond it submissions with
   *     the key are 429 {@code key_full}; null is no bound. Only with {@code fair}.
   * @return a changed copy
   */
  public QueueSettings maxReadyPerKey(Long maxReadyPerKey) {
    return with("max_ready_per_key", maxReadyPerKey);
  }
}
