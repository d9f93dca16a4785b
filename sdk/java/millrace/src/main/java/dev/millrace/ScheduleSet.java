package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.util.Map;

/** The schedules of one owner. Immutable. */
public final class ScheduleSet extends Members<ScheduleSet> {
  private final Map<String, ScheduleSpec> schedules;

  private ScheduleSet(Map<String, Object> named, Map<String, ScheduleSpec> schedules) {
    super(named);
    this.schedules = schedules;
  }

  /**
   * Returns a set of an owner's schedules.
   *
   * @param owner the owner's name
   * @param schedules the specifications by name, at most 10,000
   * @return the set
   */
  public static ScheduleSet of(String owner, Map<String, ScheduleSpec> schedules) {
    return new ScheduleSet(Map.of("managed_by", owner), Map.copyOf(schedules));
  }

  @Override
  ScheduleSet copy(Map<String, Object> named) {
    return new ScheduleSet(named, schedules);
  }

  /**
   * Deletes the owner's schedules that the set does not name.
   *
   * @return a changed copy
   */
  public ScheduleSet prune() {
    return with("prune", true);
  }

  /**
   * Changes nothing, but returns the changes that would be made.
   *
   * @return a changed copy
   */
  public ScheduleSet dryRun() {
    return with("dry_run", true);
  }

  /**
   * Takes over schedules of other owners.
   *
   * @return a changed copy
   */
  public ScheduleSet force() {
    return with("force", true);
  }

  Map<String, ScheduleSpec> schedules() {
    return schedules;
  }

  String write(ApiCodec codec) {
    JsonWriter out = new JsonWriter().begin('{');
    named().forEach((name, value) -> codec.write(value, out.name(name)));
    out.name("schedules").begin('{');
    schedules.forEach((name, spec) -> spec.write(codec, out.name(name)));
    return out.end('}').end('}').toString();
  }
}
