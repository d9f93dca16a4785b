package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/** A request to preview an expression. Immutable. */
public final class PreviewRequest extends Members<PreviewRequest> {
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

  /**
   * Sets the time zone that the expression follows.
   *
   * @param name an IANA name; the default is UTC
   * @return a changed copy
   */
  public PreviewRequest timezone(String name) {
    return with("timezone", name);
  }

  /**
   * Sets where to begin.
   *
   * @param time the first possible instant; the default is now
   * @return a changed copy
   */
  public PreviewRequest from(Instant time) {
    return with("from", time);
  }

  /**
   * Sets the number of instants to return.
   *
   * @param instants from 1 to 1,000; the default is 5
   * @return a changed copy
   */
  public PreviewRequest count(int instants) {
    return with("count", instants);
  }

  /**
   * Sets the handling of local times that the clock skips.
   *
   * @param choice the default is RUN
   * @return a changed copy
   */
  public PreviewRequest dstGap(ScheduleSpec.DstGap choice) {
    return with("dst_gap", choice);
  }

  /**
   * Sets the handling of local times that occur twice.
   *
   * @param choice the default is ONCE
   * @return a changed copy
   */
  public PreviewRequest dstOverlap(ScheduleSpec.DstOverlap choice) {
    return with("dst_overlap", choice);
  }
}
