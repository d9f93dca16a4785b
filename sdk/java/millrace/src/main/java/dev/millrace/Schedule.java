package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * A schedule as the server shows it. Members that have no value are null.
 *
 * @param name its name
 * @param cron the expression as it was given; null with an interval
 * @param every the interval; null with an expression
 * @param timezone the IANA name of the time zone that the expression follows
 * @param job the job that it submits, as it was given
 * @param startAt the earliest possible instant
 * @param endAt the latest possible instant
 * @param jitter the maximum random delay of a job after its instant
 * @param missedAfter the delay after which an instant counts as missed
 * @param missed the handling of missed instants
 * @param missedLimit how many missed instants fire with {@link ScheduleSpec.Missed#ALL}
 * @param overlap the handling of an instant while the previous job has not ended
 * @param dstGap the handling of local times that the clock skips
 * @param dstOverlap the handling of local times that occur twice
 * @param paused whether it is paused
 * @param managedBy its owner
 * @param version rises with every change, pause or resume
 * @param state whether it fires
 * @param reason why it is paused
 * @param error why it is broken
 * @param createdAt when it was created
 * @param updatedAt when it was last changed
 * @param lastScheduledAt the latest instant that created a job
 * @param lastJobId the job of that instant
 * @param next the next instants, at most five, without jitter
 * @param description the instants in plain words
 * @param warnings valid settings that are probably mistakes; null if there are none
 */
public record Schedule(
    String name,
    String cron,
    Duration every,
    String timezone,
    Json job,
    Instant startAt,
    Instant endAt,
    Duration jitter,
    Duration missedAfter,
    ScheduleSpec.Missed missed,
    int missedLimit,
    ScheduleSpec.Overlap overlap,
    ScheduleSpec.DstGap dstGap,
    ScheduleSpec.DstOverlap dstOverlap,
    boolean paused,
    String managedBy,
    long version,
    State state,
    String reason,
    String error,
    Instant createdAt,
    Instant updatedAt,
    Instant lastScheduledAt,
    String lastJobId,
    List<Instant> next,
    String description,
    List<String> warnings) {

  /** Whether it fires. */
  public enum State {
    /** It fires. */
    ACTIVE,
    /** It is paused. */
    PAUSED,
    /** It has no instant left. */
    ENDED,
    /** Its instants can't be computed. */
    BROKEN
  }
}
