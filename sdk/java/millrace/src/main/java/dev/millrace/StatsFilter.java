package dev.millrace;

import java.time.Duration;
import java.util.Map;

/** The statistics to ask for. Members that are not set take their defaults. Immutable. */
public final class StatsFilter extends Members<StatsFilter> {
  private StatsFilter(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a filter for the last hour, in one group.
   *
   * @return the filter
   */
  public static StatsFilter lastHour() {
    return new StatsFilter(Map.of());
  }

  @Override
  StatsFilter copy(Map<String, Object> named) {
    return new StatsFilter(named);
  }

  /**
   * Sets how far back to look.
   *
   * @param time from a second to 90 days
   * @return a changed copy
   */
  public StatsFilter window(Duration time) {
    return with("window_ms", time.toMillis());
  }

  /**
   * Sets the width of a column.
   *
   * @param time at least a second; at most 1,000 columns
   * @return a changed copy
   */
  public StatsFilter step(Duration time) {
    return with("step_ms", time.toMillis());
  }

  /**
   * Makes a group for each queue, type, fair key or tag.
   *
   * @param kind {@code queue}, {@code type}, {@code fair_key} or {@code tag}
   * @return a changed copy
   */
  public StatsFilter by(String kind) {
    return with("by", kind);
  }

  /**
   * Asks only for the group of this name; together with {@link #by}.
   *
   * @param name the name
   * @return a changed copy
   */
  public StatsFilter name(String name) {
    return with("name", name);
  }
}
