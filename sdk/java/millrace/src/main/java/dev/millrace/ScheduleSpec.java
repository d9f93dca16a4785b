package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;

/**
 * What a schedule submits, and when. What is not named takes its default. Immutable.
 *
 * <pre>{@code
 * client.putSchedule("daily-report",
 *     ScheduleSpec.cron("0 9 * * MON-FRI", REPORT.job(new Report("pdf"))).timezone("Europe/Zurich"));
 * }</pre>
 */
public final class ScheduleSpec extends Members<ScheduleSpec> {
  /** What becomes of instants that could not be fired in time. */
  public enum Missed {
    /** None fires. */
    SKIP,
    /** The latest fires. */
    ONE,
    /** All fire, up to a limit: the newest. */
    ALL
  }

  /** What happens at an instant while the job of the instant before has not ended. */
  public enum Overlap {
    /** Another job comes beside it. */
    ALLOW,
    /** The instant is left out. */
    SKIP,
    /** It waits until the job has ended. */
    QUEUE,
    /** The job is cancelled, and the new one comes when it has ended. */
    REPLACE
  }

  /** What becomes of a time that the clock leaps over. */
  public enum DstGap {
    /** It fires when the gap ends. */
    RUN,
    /** It does not fire. */
    SKIP
  }

  /** What becomes of a time that the clock shows twice. */
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
   * A job at times of a clock.
   *
   * @param expression five fields, or six with the second first; at most 512 bytes
   * @param job what to submit: without an id, a start time and a delay
   * @return the specification
   */
  public static ScheduleSpec cron(String expression, NewJob job) {
    return new ScheduleSpec(Map.of("cron", expression, "job", job));
  }

  /**
   * A job every so often.
   *
   * @param interval from a second to 10 years, to the millisecond
   * @param job what to submit: without an id, a start time and a delay
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
   * The zone whose clock the expression follows.
   *
   * @param name an IANA name; the default is UTC
   * @return a changed copy
   */
  public ScheduleSpec timezone(String name) {
    return with("timezone", name);
  }

  /**
   * No instant is before this.
   *
   * @param time the instant
   * @return a changed copy
   */
  public ScheduleSpec startAt(Instant time) {
    return with("start_at", time);
  }

  /**
   * No instant is after this.
   *
   * @param time the instant
   * @return a changed copy
   */
  public ScheduleSpec endAt(Instant time) {
    return with("end_at", time);
  }

  /**
   * How much later than its instant a job may come.
   *
   * @param time less than the gap between two instants, at most a day
   * @return a changed copy
   */
  public ScheduleSpec jitter(Duration time) {
    return with("jitter_ms", time);
  }

  /**
   * After how much delay an instant is missed.
   *
   * @param time from a second to a day; the default is a minute
   * @return a changed copy
   */
  public ScheduleSpec missedAfter(Duration time) {
    return with("missed_after_ms", time);
  }

  /**
   * What becomes of missed instants.
   *
   * @param choice the default is ONE
   * @return a changed copy
   */
  public ScheduleSpec missed(Missed choice) {
    return with("missed", choice);
  }

  /**
   * How many missed instants fire, with ALL.
   *
   * @param instants from 1 to 1,000; the default is 100
   * @return a changed copy
   */
  public ScheduleSpec missedLimit(int instants) {
    return with("missed_limit", instants);
  }

  /**
   * What happens while the last job has not ended.
   *
   * @param choice the default is ALLOW
   * @return a changed copy
   */
  public ScheduleSpec overlap(Overlap choice) {
    return with("overlap", choice);
  }

  /**
   * What becomes of a time that the clock leaps over.
   *
   * @param choice the default is RUN
   * @return a changed copy
   */
  public ScheduleSpec dstGap(DstGap choice) {
    return with("dst_gap", choice);
  }

  /**
   * What becomes of a time that the clock shows twice.
   *
   * @param choice the default is ONCE
   * @return a changed copy
   */
  public ScheduleSpec dstOverlap(DstOverlap choice) {
    return with("dst_overlap", choice);
  }

  /**
   * Whether it is paused.
   *
   * @param paused without it a new schedule is not, and an existing one stays as it is
   * @return a changed copy
   */
  public ScheduleSpec paused(boolean paused) {
    return with("paused", paused);
  }

  /**
   * Who owns it.
   *
   * @param owner a name
   * @return a changed copy
   */
  public ScheduleSpec managedBy(String owner) {
    return with("managed_by", owner);
  }
}
