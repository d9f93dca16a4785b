package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/** An expression to look at. Immutable. */
public final class PreviewRequest extends Members<PreviewRequest> {
  private PreviewRequest(Map<String, Object> named) {
    super(named);
  }

  /**
   * An expression.
   *
   * @param expression as {@link ScheduleSpec#cron}
   * @return the request
   */
  public static PreviewRequest cron(String expression) {
    return new PreviewRequest(Map.of("cron", expression));
  }

  /**
   * An interval.
   *
   * @param interval as {@link ScheduleSpec#every}
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
   * The zone whose clock the expression follows.
   *
   * @param name an IANA name; the default is UTC
   * @return a changed copy
   */
  public PreviewRequest timezone(String name) {
    return with("timezone", name);
  }

  /**
   * Where to begin.
   *
   * @param time the instants at this time or later; the default is now
   * @return a changed copy
   */
  public PreviewRequest from(Instant time) {
    return with("from", time);
  }

  /**
   * How many instants to show.
   *
   * @param instants from 1 to 1,000; the default is 5
   * @return a changed copy
   */
  public PreviewRequest count(int instants) {
    return with("count", instants);
  }

  /**
   * What becomes of a time that the clock leaps over.
   *
   * @param choice the default is RUN
   * @return a changed copy
   */
  public PreviewRequest dstGap(ScheduleSpec.DstGap choice) {
    return with("dst_gap", choice);
  }

  /**
   * What becomes of a time that the clock shows twice.
   *
   * @param choice the default is ONCE
   * @return a changed copy
   */
  public PreviewRequest dstOverlap(ScheduleSpec.DstOverlap choice) {
    return with("dst_overlap", choice);
  }
}
