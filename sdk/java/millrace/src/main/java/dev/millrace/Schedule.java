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
 * @param timezone the IANA name of the zone whose clock the expression follows
 * @param job what it submits, as it was given
 * @param startAt no instant is before it
 * @param endAt no instant is after it
 * @param jitter how much later than its instant a job may come
 * @param missedAfter after how much delay an instant is missed
 * @param missed what becomes of missed instants
 * @param missedLimit with {@link ScheduleSpec.Missed#ALL}, how many fire
 * @param overlap what happens while the last job has not ended
 * @param dstGap what becomes of a time that the clock leaps over
 * @param dstOverlap what becomes of a time that the clock shows twice
 * @param paused whether somebody has paused it
 * @param managedBy its owner
 * @param version rises with every change, pause or resume
 * @param state whether it fires
 * @param reason why it is paused
 * @param error why it is broken
 * @param createdAt when it was made
 * @param updatedAt the last change
 * @param lastScheduledAt the newest instant that made a job
 * @param lastJobId the job of that instant
 * @param next the next instants, at most five, without jitter
 * @param description when it is due, in plain words
 * @param warnings what is allowed, but probably not meant; null if there is nothing
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
    /** Somebody has paused it. */
    PAUSED,
    /** It has no instant left. */
    ENDED,
    /** It can't know its instants. */
    BROKEN
  }
}
