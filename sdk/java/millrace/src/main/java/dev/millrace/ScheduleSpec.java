package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/**
 * The specification of a schedule. Members that are not set take their defaults. Immutable.
 *
 * <pre>{@code
 * client.putSchedule("daily-report",
 *     ScheduleSpec.cron("0 9 * * MON-FRI", REPORT.job(new Report("pdf"))).timezone("Europe/Zurich"));
 * }</pre>
 */
public final class ScheduleSpec extends Members<ScheduleSpec> {
  /** The handling of instants that could not be fired in time. */
  public enum Missed {
    /** None fires. */
    SKIP,
    /** The latest fires. */
    ONE,
    /** All fire, up to a limit; beyond it, the oldest are skipped. */
    ALL
  }

  /** The handling of an instant while the previous instant's job has not ended. */
  public enum Overlap {
    /** Another job is submitted in addition. */
    ALLOW,
    /** The instant is skipped. */
    SKIP,
    /** It waits until the job has ended. */
    QUEUE,
    /** The job is cancelled, and the new one is submitted when it has ended. */
    REPLACE
  }

  /** The handling of local times that the clock skips. */
  public enum DstGap {
    /** It fires when the gap ends. */
    RUN,
    /** It does not fire. */
    SKIP
  }

  /** The handling of local times that occur twice. */
  public enum DstOverlap {
    /** It fires the first time. */
    ONCE,
    /** It fires both times. */
    TWICE
  }

  private ScheduleSpec(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a schedule that follows a cron expression.
   *
   * @param expression five fields, or six with the second first; at most 512 bytes
   * @param job the job to submit, without an id, a start time or a delay
   * @return the specification
   */
  public static ScheduleSpec cron(String expression, NewJob job) {
    return new ScheduleSpec(Map.of("cron", expression, "job", job));
  }

  /**
   * Returns a schedule with a fixed interval.
   *
   * @param interval from a second to 10 years, with millisecond precision
   * @param job the job to submit, without an id, a start time or a delay
   * @return the specification
   */
  public static ScheduleSpec every(Duration interval, NewJob job) {
    return new ScheduleSpec(Map.of("every_ms", interval, "job", job));
  }

  @Override
  ScheduleSpec copy(Map<String, Object> named) {
    return new ScheduleSpec(named);
  }

  String write(ApiCodec codec) {
    JsonWriter out = new JsonWriter();
    write(codec, out);
    return out.toString();
  }

  void write(ApiCodec codec, JsonWriter out) {
    out.begin('{');
    named()
        .forEach(
            (name, value) -> {
              out.name(name);
              if (value instanceof NewJob job) {
                codec.writeMembers(job.named(), out);
              } else {
                codec.write(value, out);
              }
            });
    out.end('}');
  }

  /**
   * Sets the time zone that the expression follows.
   *
   * @param name an IANA name; the default is UTC
   * @return a changed copy
   */
  public ScheduleSpec timezone(String name) {
    return with("timezone", name);
  }

  /**
   * Sets the earliest possible instant.
   *
   * @param time the instant
   * @return a changed copy
   */
  public ScheduleSpec startAt(Instant time) {
    return with("start_at", time);
  }

  /**
   * Sets the latest possible instant.
   *
   * @param time the instant
   * @return a changed copy
   */
  public ScheduleSpec endAt(Instant time) {
    return with("end_at", time);
  }

  /**
   * Sets the maximum random delay of a job after its instant.
   *
   * @param time less than the time between two instants, at most a day
   * @return a changed copy
   */
  public ScheduleSpec jitter(Duration time) {
    return with("jitter_ms", time);
  }

  /**
   * Sets the delay after which an instant counts as missed.
   *
   * @param time from a second to a day; the default is a minute
   * @return a changed copy
   */
  public ScheduleSpec missedAfter(Duration time) {
    return with("missed_after_ms", time);
  }

  /**
   * Sets the handling of missed instants.
   *
   * @param choice the default is ONE
   * @return a changed copy
   */
  public ScheduleSpec missed(Missed choice) {
    return with("missed", choice);
  }

  /**
   * Sets how many missed instants fire with ALL.
   *
   * @param instants from 1 to 1,000; the default is 100
   * @return a changed copy
   */
  public ScheduleSpec missedLimit(int instants) {
    return with("missed_limit", instants);
  }

  /**
   * Sets the handling of an instant while the previous job has not ended.
   *
   * @param choice the default is ALLOW
   * @return a changed copy
   */
  public ScheduleSpec overlap(Overlap choice) {
    return with("overlap", choice);
  }

  /**
   * Sets the handling of local times that the clock skips.
   *
   * @param choice the default is RUN
   * @return a changed copy
   */
  public ScheduleSpec dstGap(DstGap choice) {
    return with("dst_gap", choice);
  }

  /**
   * Sets the handling of local times that occur twice.
   *
   * @param choice the default is ONCE
   * @return a changed copy
   */
  public ScheduleSpec dstOverlap(DstOverlap choice) {
    return with("dst_overlap", choice);
  }

  /**
   * Pauses or resumes the schedule.
   *
   * @param paused if it is not set, a new schedule is not paused and an existing one is unchanged
   * @return a changed copy
   */
  public ScheduleSpec paused(boolean paused) {
    return with("paused", paused);
  }

  /**
   * Sets the schedule's owner.
   *
   * @param owner a name
   * @return a changed copy
   */
  public ScheduleSpec managedBy(String owner) {
    return with("managed_by", owner);
  }
}
