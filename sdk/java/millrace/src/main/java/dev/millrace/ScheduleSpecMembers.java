// Made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/** The members of ScheduleSpec that are set one by one. */
abstract class ScheduleSpecMembers extends Members<ScheduleSpec> {
  ScheduleSpecMembers(Map<String, Object> named) {
    super(named);
  }

  /**
   * Sets {@code workflow} of the schedule.
   *
   * @param workflow The workflow to create at each instant, in place of a job: at most 64 KiB, and
   *     its jobs 128 KiB with their defaults. {@code id}, {@code unique}, {@code open} and the
   *     {@code run_at} of a job are 422.
   * @return a changed copy
   */
  public ScheduleSpec workflow(Json workflow) {
    return with("workflow", workflow);
  }

  /**
   * Sets {@code startAt} of the schedule.
   *
   * @param startAt No instant is before it. Default none.
   * @return a changed copy
   */
  public ScheduleSpec startAt(Instant startAt) {
    return with("start_at", startAt);
  }

  /**
   * Sets {@code endAt} of the schedule.
   *
   * @param endAt No instant is after it; then the schedule is {@code ended}. Not before {@code
   *     startAt}. Default none.
   * @return a changed copy
   */
  public ScheduleSpec endAt(Instant endAt) {
    return with("end_at", endAt);
  }

  /**
   * Sets {@code paused} of the schedule.
   *
   * @param paused Whether the schedule is paused. If left out, a new schedule is not paused, and an
   *     existing one stays as it is. Default {@code false}.
   * @return a changed copy
   */
  public ScheduleSpec paused(boolean paused) {
    return with("paused", paused);
  }

  /**
   * Sets {@code managedBy} of the schedule.
   *
   * @param managedBy The owner: a name that {@code PUT /v1/schedules} and filters of lists use. In
   *     a set it may be left out, or be the set's. Default none. 1 to 128 characters.
   * @return a changed copy
   */
  public ScheduleSpec managedBy(String managedBy) {
    return with("managed_by", managedBy);
  }

  /**
   * Sets {@code timezone} of the schedule.
   *
   * @param timezone The IANA name of the zone whose clock {@code cron} follows. Default {@code
   *     UTC}. 1 to 64 characters.
   * @return a changed copy
   */
  public ScheduleSpec timezone(String timezone) {
    return with("timezone", timezone);
  }

  /**
   * Sets {@code jitter} of the schedule.
   *
   * @param jitter How much later than its instant a job may come. The delay follows from the
   *     schedule and the instant. It must be less than the gap between an instant and the next.
   *     Default {@code 0}. 0 to 86,400,000 ms.
   * @return a changed copy
   */
  public ScheduleSpec jitter(Duration jitter) {
    return with("jitter_ms", jitter);
  }

  /**
   * Sets {@code missedAfter} of the schedule.
   *
   * @param missedAfter An instant that could not be fired for longer than this is missed, and
   *     {@code missed} decides on it. Before that it is only late, and fires. Default {@code
   *     60000}. 1,000 to 86,400,000 ms.
   * @return a changed copy
   */
  public ScheduleSpec missedAfter(Duration missedAfter) {
    return with("missed_after_ms", missedAfter);
  }

  /**
   * Sets {@code missed} of the schedule.
   *
   * @param missed The treatment of missed instants: {@code skip} them, fire {@code one} (the
   *     latest), or {@code all}, as many as {@code missedLimit}. Default {@code one}.
   * @return a changed copy
   */
  public ScheduleSpec missed(ScheduleSpec.Missed missed) {
    return with("missed", missed);
  }

  /**
   * Sets {@code missedLimit} of the schedule.
   *
   * @param missedLimit With {@code missed} {@code all}, how many instants fire: the newest. The
   *     older ones are one entry of the runs, with a count. Default {@code 100}. 1 to 1,000.
   * @return a changed copy
   */
  public ScheduleSpec missedLimit(int missedLimit) {
    return with("missed_limit", missedLimit);
  }

  /**
   * Sets {@code overlap} of the schedule.
   *
   * @param overlap What happens at an instant while the job or workflow of the instant before has
   *     not ended: {@code allow} the new job beside it, {@code skip} the instant, {@code queue} it
   *     (one waits until the job has ended, later ones are skipped), or {@code replace} the job:
   *     cancel it, and submit the new one when it has ended. Default {@code allow}.
   * @return a changed copy
   */
  public ScheduleSpec overlap(ScheduleSpec.Overlap overlap) {
    return with("overlap", overlap);
  }

  /**
   * Sets {@code dstGap} of the schedule.
   *
   * @param dstGap The treatment of a time of day that the clock skips: {@code run} once, at the
   *     gap's end, or {@code skip}. Only for expressions whose minute and hour do not begin with
   *     {@code *}: the others follow elapsed time, and a gap has none. Default {@code run}.
   * @return a changed copy
   */
  public ScheduleSpec dstGap(ScheduleSpec.DstGap dstGap) {
    return with("dst_gap", dstGap);
  }

  /**
   * Sets {@code dstOverlap} of the schedule.
   *
   * @param dstOverlap The treatment of a time of day that the clock shows twice: {@code once} (the
   *     first) or {@code twice}. Only for expressions whose minute and hour do not begin with
   *     {@code *}: the others follow elapsed time, and are due both times. Default {@code once}.
   * @return a changed copy
   */
  public ScheduleSpec dstOverlap(ScheduleSpec.DstOverlap dstOverlap) {
    return with("dst_overlap", dstOverlap);
  }
}
