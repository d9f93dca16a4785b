package dev.millrace;

import dev.millrace.Transport.Answer;
import dev.millrace.Transport.Replay;
import dev.millrace.Transport.Request;
import java.util.List;
import java.util.Map;

/** The client's calls on schedules. */
abstract class ScheduleCalls extends QueueCalls {
  ScheduleCalls(Transport transport, ApiCodec codec) {
    super(transport, codec);
  }

  /**
   * Returns all schedules, by name.
   *
   * @return the schedules
   */
  public List<Schedule> schedules() {
    return all("/v1/schedules", Map.of(), Schedule.class);
  }

  /**
   * Returns the schedules of an owner, by name.
   *
   * @param owner the owner's name; empty for schedules without an owner
   * @return the schedules
   */
  public List<Schedule> schedules(String owner) {
    return all("/v1/schedules", Map.of("managed_by", owner), Schedule.class);
  }

  /**
   * Returns a schedule.
   *
   * @param name its name
   * @return the schedule
   * @throws MillraceException.NotFound if there is no such schedule
   */
  public Schedule schedule(String name) {
    return get(Target.path("/v1/schedules/", name), Schedule.class);
  }

  /**
   * Creates a schedule or replaces its specification. An equal specification changes nothing.
   *
   * @param name its name
   * @param spec the specification; members that are not set take their defaults
   * @return the schedule
   * @throws MillraceException.ValidationFailed if the expression is invalid or has no instants
   */
  public Schedule putSchedule(String name, ScheduleSpec spec) {
    return putSchedule(name, spec, null);
  }

  /**
   * Replaces a schedule if it still has the expected version.
   *
   * @param name its name
   * @param spec the specification
   * @param version the version expected; null for any
   * @return the schedule
   * @throws MillraceException.VersionConflict if it has another version
   */
  public Schedule putSchedule(String name, ScheduleSpec spec, Long version) {
    String target = Target.path("/v1/schedules/", name);
    Request request =
        new Request("PUT", target, spec.write(codec), ifMatch(version), Replay.ALWAYS);
    return read(transport.call(request), Schedule.class);
  }

  /**
   * Deletes a schedule. Its jobs remain.
   *
   * @param name its name
   * @throws MillraceException.NotFound if there is no such schedule
   */
  public void deleteSchedule(String name) {
    remove(Target.path("/v1/schedules/", name));
  }

  /**
   * Pauses a schedule. Instants that pass meanwhile do not fire later.
   *
   * @param name its name
   * @param reason a note for people, at most 1,024 bytes; may be null
   * @return the schedule
   */
  public Schedule pauseSchedule(String name, String reason) {
    return post(Target.path("/v1/schedules/", name, "/pause"), reasonBody(reason), Schedule.class);
  }

  /**
   * Makes a schedule fire again, starting at its next instant.
   *
   * @param name its name
   * @return the schedule
   */
  public Schedule resumeSchedule(String name) {
    return post(Target.path("/v1/schedules/", name, "/resume"), null, Schedule.class);
  }

  /**
   * Submits one job of a schedule now.
   *
   * @param name its name
   * @return the job
   */
  public Submitted triggerSchedule(String name) {
    String target = Target.path("/v1/schedules/", name, "/trigger");
    Answer answer = transport.call(once(target, "{}"));
    return new Submitted(read(answer, Job.class), answer.status() == 201);
  }

  /**
   * Submits the jobs of a past range of a schedule, oldest first. Instants whose jobs still exist
   * are skipped. Call it again while {@link BackfillResult#more} is true.
   *
   * @param name its name
   * @param range the range of instants
   * @return the numbers of jobs
   */
  public BackfillResult backfillSchedule(String name, Backfill range) {
    String target = Target.path("/v1/schedules/", name, "/backfill");
    return read(transport.call(once(target, codec.write(range))), BackfillResult.class);
  }

  private record Runs(List<ScheduleRun> items) {}

  /**
   * Returns the results of a schedule's last 100 instants, newest first.
   *
   * @param name its name
   * @return the runs
   */
  public List<ScheduleRun> scheduleRuns(String name) {
    return get(Target.path("/v1/schedules/", name, "/runs"), Runs.class).items();
  }

  /**
   * Describes an expression in words and instants. Changes nothing.
   *
   * @param preview the expression
   * @return the description and the instants
   * @throws MillraceException.ValidationFailed if the expression is invalid or has no instants
   */
  public SchedulePreview previewSchedule(PreviewRequest preview) {
    return post("/v1/schedules/preview", codec.write(preview), SchedulePreview.class);
  }

  /**
   * Makes an owner's schedules match a set: creates missing schedules, changes those that differ,
   * and leaves the others unchanged.
   *
   * @param set the owner and its schedules
   * @return the changes
   */
  public ScheduleChanges applySchedules(ScheduleSet set) {
    String body = set.write(codec);
    Request request = new Request("PUT", "/v1/schedules", body, Map.of(), Replay.ALWAYS);
    return read(transport.call(request), ScheduleChanges.class);
  }
}
