package dev.millrace;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/** Settings to give a queue. The call decides about settings that are not set. Immutable. */
public final class QueueSettings extends QueueSettingsMembers {
  private QueueSettings(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns empty settings.
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
   * Sets how long jobs that succeeded are kept.
   *
   * @param time with millisecond precision; zero keeps none, null keeps them for ever; the default
   *     is a day
   * @return a changed copy
   */
  public QueueSettings keepSucceeded(Duration time) {
    return keep("succeeded_ms", time);
  }

  /**
   * Sets how long jobs that failed for good are kept.
   *
   * @param time as for {@link #keepSucceeded}; the default is 30 days
   * @return a changed copy
   */
  public QueueSettings keepDead(Duration time) {
    return keep("dead_ms", time);
  }

  /**
   * Sets how long jobs that were cancelled are kept.
   *
   * @param time as for {@link #keepSucceeded}; the default is a day
   * @return a changed copy
   */
  public QueueSettings keepCancelled(Duration time) {
    return keep("cancelled_ms", time);
  }

  /**
   * Sets how long jobs that did not start in time are kept.
   *
   * @param time as for {@link #keepSucceeded}; the default is a day
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
