// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * A schedule as the server shows it. Members that have no value are null.
 *
 * @param name the schedule's name
 * @param job The job that it submits, as it was given. Left out if it creates workflows.
 * @param workflow The workflow that it creates, as it was given. Left out if it submits jobs.
 * @param startAt no instant is before it
 * @param endAt no instant is after it
 * @param paused whether somebody has paused it
 * @param managedBy the owner; null if it has none
 * @param version Rises with every change of the specification, pause or resume; {@code ETag} and
 *     {@code If-Match} carry it. Firing leaves it alone.
 * @param state {@code ended}: no instant is left. {@code broken}: the server can't compute the
 *     instants, and {@code error} says why; the schedule does not fire until that is fixed.
 * @param reason the reason of the pause; null if it is not paused, or none was given
 * @param error why it is {@code broken} (say, a zone that is no longer there); else null
 * @param createdAt when it was made
 * @param updatedAt the last change of {@code version}
 * @param lastScheduledAt the newest instant that made a job or workflow; null before the first
 * @param lastJobId the job of {@code lastScheduledAt}, which the queue may have forgotten; null
 *     before the first, and if that was a workflow
 * @param lastWorkflowId The workflow of {@code lastScheduledAt}. Left out if there is none.
 * @param next The next instants, at most five, without jitter. For a paused schedule, those that it
 *     would have; none if it is {@code ended} or {@code broken}. At most 5 entries.
 * @param description the schedule in words
 * @param warnings Sentences about settings that are valid but probably mistakes, and one that
 *     begins with {@code delayed} if the server has no room to fire it. Left out if there are none.
 * @param cron Five fields (minute, hour, day of month, month, day of week), or six with the second
 *     first. A field is a list of {@code *}, numbers, names ({@code JAN}, {@code MON}), ranges
 *     ({@code 9-17}) and steps ({@code 0-59/15}). Days of month may be {@code L} (the last), {@code
 *     15W} (the working day nearest the 15th) and {@code LW}; days of week {@code 5#3} (the third
 *     Friday) and {@code 5L} (the last Friday): 0 and 7 are Sunday, 5 is Friday. {@code ?} is
 *     {@code *}. Or {@code &#64;yearly}, {@code &#64;monthly}, {@code &#64;weekly}, {@code
 *     &#64;daily}, {@code &#64;hourly}. If day of month or day of week begins with {@code *}, a day
 *     must match both, else either. An expression that never comes is refused. At most 512 bytes.
 * @param every The interval, at most 10 years. The instants are its whole multiples, counted from
 *     {@code startAt}, else from the Unix epoch: a restart or an edit moves none.
 * @param timezone The IANA name of the zone whose clock {@code cron} follows. Default {@code UTC}.
 *     1 to 64 characters.
 * @param jitter How much later than its instant a job may come. The delay follows from the schedule
 *     and the instant. It must be less than the gap between an instant and the next. Default {@code
 *     0}. 0 to 86,400,000 ms.
 * @param missedAfter An instant that could not be fired for longer than this is missed, and {@code
 *     missed} decides on it. Before that it is only late, and fires. Default {@code 60000}. 1,000
 *     to 86,400,000 ms.
 * @param missed The treatment of missed instants: {@code skip} them, fire {@code one} (the latest),
 *     or {@code all}, as many as {@code missedLimit}. Default {@code one}.
 * @param missedLimit With {@code missed} {@code all}, how many instants fire: the newest. The older
 *     ones are one entry of the runs, with a count. Default {@code 100}. 1 to 1,000.
 * @param overlap What happens at an instant while the job or workflow of the instant before has not
 *     ended: {@code allow} the new job beside it, {@code skip} the instant, {@code queue} it (one
 *     waits until the job has ended, later ones are skipped), or {@code replace} the job: cancel
 *     it, and submit the new one when it has ended. Default {@code allow}.
 * @param dstGap The treatment of a time of day that the clock skips: {@code run} once, at the gap's
 *     end, or {@code skip}. Only for expressions whose minute and hour do not begin with {@code *}:
 *     the others follow elapsed time, and a gap has none. Default {@code run}.
 * @param dstOverlap The treatment of a time of day that the clock shows twice: {@code once} (the
 *     first) or {@code twice}. Only for expressions whose minute and hour do not begin with {@code
 *     *}: the others follow elapsed time, and are due both times. Default {@code once}.
 */
public record Schedule(
    String name,
    Json job,
    Json workflow,
    Instant startAt,
    Instant endAt,
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
    String lastWorkflowId,
    List<Instant> next,
    String description,
    List<String> warnings,
    String cron,
    Duration every,
    String timezone,
    Duration jitter,
    Duration missedAfter,
    ScheduleSpec.Missed missed,
    int missedLimit,
    ScheduleSpec.Overlap overlap,
    ScheduleSpec.DstGap dstGap,
    ScheduleSpec.DstOverlap dstOverlap) {

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
