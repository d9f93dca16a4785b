// Made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;
import java.util.Map;

/** The members of PreviewRequest that are set one by one. */
abstract class PreviewRequestMembers extends Members<PreviewRequest> {
  PreviewRequestMembers(Map<String, Object> named) {
    super(named);
  }

  /**
   * Sets {@code timezone} of the request.
   *
   * @param timezone The IANA name of the zone. Default {@code UTC}. 1 to 64 characters.
   * @return a changed copy
   */
  public PreviewRequest timezone(String timezone) {
    return with("timezone", timezone);
  }

  /**
   * Sets {@code from} of the request.
   *
   * @param from The instants at this time or later. Default now.
   * @return a changed copy
   */
  public PreviewRequest from(Instant from) {
    return with("from", from);
  }

  /**
   * Sets {@code count} of the request.
   *
   * @param count How many instants to show, at most. Default {@code 5}. 1 to 1,000.
   * @return a changed copy
   */
  public PreviewRequest count(int count) {
    return with("count", count);
  }

  /**
   * Sets {@code dstGap} of the request.
   *
   * @param dstGap The treatment of a time of day that the clock skips: {@code run} once, at the
   *     gap's end, or {@code skip}. Only for expressions whose minute and hour do not begin with
   *     {@code *}: the others follow elapsed time, and a gap has none. Default {@code run}.
   * @return a changed copy
   */
  public PreviewRequest dstGap(ScheduleSpec.DstGap dstGap) {
    return with("dst_gap", dstGap);
  }

  /**
   * Sets {@code dstOverlap} of the request.
   *
   * @param dstOverlap The treatment of a time of day that the clock shows twice: {@code once} (the
   *     first) or {@code twice}. Only for expressions whose minute and hour do not begin with
   *     {@code *}: the others follow elapsed time, and are due both times. Default {@code once}.
   * @return a changed copy
   */
  public PreviewRequest dstOverlap(ScheduleSpec.DstOverlap dstOverlap) {
    return with("dst_overlap", dstOverlap);
  }
}
