package dev.millrace;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/** Settings of a queue to set. What is not named is left to the call. Immutable. */
public final class QueueSettings extends Members<QueueSettings> {
  private QueueSettings(Map<String, Object> named) {
    super(named);
  }

  /**
   * Settings that name nothing.
   *
   * @return the settings
   */
  public static QueueSettings create() {
    return new QueueSettings(Map.of());
  }

  @Override
  QueueSettings copy(Map<String, Object> named) {
    return new QueueSettings(named);
  }

  /**
   * How often jobs may be tried that do not say so themselves.
   *
   * @param attempts from 1 to 1,000; the default is 5
   * @return a changed copy
   */
  public QueueSettings maxAttempts(int attempts) {
    return with("max_attempts", attempts);
  }

  /**
   * After how many lost workers a job is dead.
   *
   * @param crashes from 1 to 1,000; null: as often as it may be tried
   * @return a changed copy
   */
  public QueueSettings maxCrashes(Integer crashes) {
    return with("max_crashes", crashes);
  }

  /**
   * How long jobs wait between attempts that do not say so themselves.
   *
   * @param policy the policy
   * @return a changed copy
   */
  public QueueSettings retry(RetryPolicy policy) {
    return with("retry", policy);
  }

  /**
   * The length of leases for jobs and claims that do not say so themselves.
   *
   * @param lease from a second to a day; the default is 30 seconds
   * @return a changed copy
   */
  public QueueSettings lease(Duration lease) {
    return with("lease_ms", lease);
  }

  /**
   * With so many ready jobs submissions are refused as {@link MillraceException.QueueFull}.
   *
   * @param jobs the bound; null: none
   * @return a changed copy
   */
  public QueueSettings maxReady(Long jobs) {
    return with("max_ready", jobs);
  }

  /**
   * How long jobs are kept that ended well.
   *
   * @param time to the millisecond; zero keeps none, null keeps them for ever; the default is a day
   * @return a changed copy
   */
  public QueueSettings keepSucceeded(Duration time) {
    return keep("succeeded_ms", time);
  }

  /**
   * How long jobs are kept that failed for good.
   *
   * @param time as above; the default is 30 days
   * @return a changed copy
   */
  public QueueSettings keepDead(Duration time) {
    return keep("dead_ms", time);
  }

  /**
   * How long jobs are kept that were cancelled.
   *
   * @param time as above; the default is a day
   * @return a changed copy
   */
  public QueueSettings keepCancelled(Duration time) {
    return keep("cancelled_ms", time);
  }

  /**
   * How long jobs are kept that did not start in time.
   *
   * @param time as above; the default is a day
   * @return a changed copy
   */
  public QueueSettings keepExpired(Duration time) {
    return keep("expired_ms", time);
  }

  private QueueSettings keep(String name, Duration time) {
    Map<String, Object> known = get("retention");
    Map<String, Object> retention = known == null ? new HashMap<>() : new HashMap<>(known);
    retention.put(name, time);
    return with("retention", retention);
  }
}
