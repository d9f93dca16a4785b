package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.time.Duration;
import java.util.Map;

/**
 * The specification of a schedule. Members that are not set take their defaults. Immutable.
 *
 * <pre>{@code
 * client.putSchedule("daily-report",
 *     ScheduleSpec.cron("0 9 * * MON-FRI", REPORT.job(new Report("pdf"))).timezone("Europe/Zurich"));
 * }</pre>
 */
public final class ScheduleSpec extends ScheduleSpecMembers {
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
}
