package dev.millrace;

import java.time.Duration;
import java.util.Map;

/** A request to preview an expression. Immutable. */
public final class PreviewRequest extends PreviewRequestMembers {
  private PreviewRequest(Map<String, Object> named) {
    super(named);
  }

  /**
   * Previews an expression.
   *
   * @param expression as in {@link ScheduleSpec#cron}
   * @return the request
   */
  public static PreviewRequest cron(String expression) {
    return new PreviewRequest(Map.of("cron", expression));
  }

  /**
   * Previews an interval.
   *
   * @param interval as in {@link ScheduleSpec#every}
   * @return the request
   */
  public static PreviewRequest every(Duration interval) {
    return new PreviewRequest(Map.of("every_ms", interval));
  }

  @Override
  PreviewRequest copy(Map<String, Object> named) {
    return new PreviewRequest(named);
  }
}
