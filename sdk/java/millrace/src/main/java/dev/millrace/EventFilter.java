package dev.millrace;

import java.time.Duration;
import java.util.Map;

/** Selects events of the log, and a page of them. Members that are not set match all. Immutable. */
public final class EventFilter extends Members<EventFilter> {
  private EventFilter(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a filter that selects all events, from the oldest that is kept.
   *
   * @return the filter
   */
  public static EventFilter all() {
    return new EventFilter(Map.of());
  }

  /**
   * Returns a filter that selects events from now on.
   *
   * @return the filter
   */
  public static EventFilter fromNow() {
    return all().cursor("end");
  }

  @Override
  EventFilter copy(Map<String, Object> named) {
    return new EventFilter(named);
  }

  /**
   * Selects events of these types.
   *
   * @param types such as {@code job.dead}
   * @return a changed copy
   */
  public EventFilter types(String... types) {
    return with("types", String.join(",", types));
  }

  /**
   * Selects events of these queues.
   *
   * @param queues their names
   * @return a changed copy
   */
  public EventFilter queues(String... queues) {
    return with("queues", String.join(",", queues));
  }

  /**
   * Selects events of one job.
   *
   * @param id the job's id
   * @return a changed copy
   */
  public EventFilter job(String id) {
    return with("job", id);
  }

  /**
   * Waits for the next event if there is none.
   *
   * @param time at most a minute
   * @return a changed copy
   */
  public EventFilter wait(Duration time) {
    return with("wait_ms", time.toMillis());
  }

  /**
   * Sets the maximum number of events in a page.
   *
   * @param limit from 1 to 1,000; the default is 50
   * @return a changed copy
   */
  public EventFilter limit(int limit) {
    return with("limit", limit);
  }

  /**
   * Sets where the page begins.
   *
   * @param cursor the {@code nextCursor} of the previous page; null for the oldest event
   * @return a changed copy
   */
  public EventFilter cursor(String cursor) {
    return cursor == null ? without("cursor") : with("cursor", cursor);
  }

  Duration waits() {
    Long millis = get("wait_ms");
    return millis == null ? Duration.ZERO : Duration.ofMillis(millis);
  }
}
