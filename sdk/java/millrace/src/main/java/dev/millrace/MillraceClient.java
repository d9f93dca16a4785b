package dev.millrace;

import dev.millrace.Transport.Answer;
import dev.millrace.Transport.Replay;
import dev.millrace.Transport.Request;
import dev.millrace.internal.json.JsonWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * A client of one Millrace server. Thread-safe; an application needs only one. It keeps its
 * connections open. If it is safe, it retries a call after a lost connection and after the statuses
 * 429, 502, 503 and 504, within one deadline for the whole call.
 *
 * <pre>{@code
 * MillraceClient client = MillraceClient.create(); // MILLRACE_URL, MILLRACE_TOKEN
 * client.submit(MAIL, new Mail("ada@example.org", "welcome"));
 * }</pre>
 */
public final class MillraceClient implements Jobs {
  /** The longest time that one request may wait at the server. */
  private static final Duration MAX_WAIT = Duration.ofSeconds(60);

  private final Transport transport;
  private final ApiCodec codec;
  private final Preparer preparer;

  MillraceClient(Transport transport, ApiCodec codec, Preparer preparer) {
    this.transport = transport;
    this.codec = codec;
    this.preparer = preparer;
  }

  /**
   * Creates a client with settings from the environment: {@code MILLRACE_URL}, else {@code
   * http://127.0.0.1:7600}, and {@code MILLRACE_TOKEN}.
   *
   * @return the client
   */
  public static MillraceClient create() {
    return builder().build();
  }

  /**
   * Creates a client of the server at this address.
   *
   * @param url the server's address
   * @return the client
   */
  public static MillraceClient create(String url) {
    return builder().url(url).build();
  }

  /**
   * Returns a builder of a client with other settings.
   *
   * @return a builder
   */
  public static ClientBuilder builder() {
    return new ClientBuilder();
  }

  /**
   * Returns a new id for a job.
   *
   * @param queue the queue that the job will wait in
   * @return a unique UUIDv7
   */
  public static String makeId(String queue) {
    return Ids.make(queue);
  }

  /**
   * Returns the same client with another deadline. Both share their connections.
   *
   * @param timeout the deadline of each whole call, including all its tries and pauses
   * @return the client
   */
  public MillraceClient withTimeout(Duration timeout) {
    return new MillraceClient(transport.withTimeout(timeout), codec, preparer);
  }

  /**
   * Returns the server's address.
   *
   * @return the URL
   */
  public String url() {
    return transport.url();
  }

  /**
   * Creates a worker that claims jobs from this server. Attach handlers, then run it.
   *
   * <pre>{@code
   * client.worker(o -> o.queues("mail").concurrency(16))
   *     .handle(MAIL, (mail, ctx) -> mailer.send(mail))
   *     .run();
   * }</pre>
   *
   * @param options sets the options
   * @return the worker, which does not run yet
   */
  public Worker worker(Consumer<WorkerOptions> options) {
    WorkerOptions chosen = new WorkerOptions();
    options.accept(chosen);
    return new Worker(transport, codec, preparer, chosen);
  }

  @Override
  public Submitted submit(NewJob job) {
    NewJob ready = preparer.prepare(job);
    String key = ready.get("idempotency_key");
    Map<String, String> headers = key == null ? Map.of() : Map.of("Idempotency-Key", key);
    String body = codec.write(ready.without("idempotency_key"));
    Answer answer = transport.call(new Request("POST", "/v1/jobs", body, headers, Replay.ALWAYS));
    return new Submitted(read(answer, Job.class), answer.status() == 201);
  }

  @Override
  public List<BatchItem> submitBatch(List<NewJob> jobs) {
    return submit(jobs, false);
  }

  @Override
  public List<BatchItem> submitAtomically(List<NewJob> jobs) {
    return submit(jobs, true);
  }

  private record WireItem(int status, String id, JobState state, Problems.Wire error) {
    BatchItem item() {
      return new BatchItem(status, id, state, error == null ? null : error.error());
    }
  }

  private record WireItems(List<WireItem> results) {}

  private List<BatchItem> submit(List<NewJob> jobs, boolean atomic) {
    JsonWriter out = new JsonWriter().begin('{');
    out.name("jobs").begin('[');
    for (NewJob job : jobs) codec.writeMembers(preparer.prepare(job).named(), out);
    out.end(']');
    if (atomic) out.name("atomic").raw("true");
    out.end('}');
    WireItems answer = post("/v1/jobs/batch", out.toString(), WireItems.class);
    return answer.results().stream().map(WireItem::item).toList();
  }

  @Override
  public Job get(String id, Job.Include... include) {
    Map<String, String> parameters = new HashMap<>();
    if (include.length > 0) parameters.put("include", JobFilter.words(include));
    return get(Target.query(Target.path("/v1/jobs/", id), parameters), Job.class);
  }

  /**
   * Waits until a job has ended in any way; check its state.
   *
   * @param id the job's id
   * @param timeout the longest time to wait
   * @return the job with its result
   * @throws MillraceException.WaitTimeout if it has not ended by then
   * @throws MillraceException.NotFound if there is no such job
   */
  public Job waitFor(String id, Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    for (; ; ) {
      Duration left = Duration.ofNanos(Math.max(deadline - System.nanoTime(), 0));
      Duration wait = left.compareTo(MAX_WAIT) < 0 ? left : MAX_WAIT;
      Map<String, Object> parameters =
          Map.of("wait_ms", wait.toMillis(), "until", "final", "include", "result");
      Request request = Request.get(Target.query(Target.path("/v1/jobs/", id), parameters));
      Job job = read(transport.call(request, wait.plus(transport.timeout())), Job.class);
      if (job.state() != null && job.state().isFinal()) return job;
      if (System.nanoTime() - deadline >= 0) {
        String message = "job " + id + " has not ended within " + timeout.toMillis() + " ms";
        throw MillraceException.of("wait_timeout", message, null);
      }
    }
  }

  @Override
  public Page<Job> list(JobFilter filter) {
    return page("/v1/jobs", filter.named(), Job.class);
  }

  /**
   * Returns the lines of a job's log, oldest first.
   *
   * @param id the job's id
   * @return all lines that the server keeps
   * @throws MillraceException.NotFound if there is no such job
   */
  public List<LogLine> logs(String id) {
    return all(Target.path("/v1/jobs/", id, "/logs"), Map.of(), LogLine.class);
  }

  @Override
  public Job cancel(String id, String reason) {
    try {
      return post(Target.path("/v1/jobs/", id, "/cancel"), reasonBody(reason), Job.class);
    } catch (MillraceException.InvalidState ended) {
      // An earlier try may have cancelled it, and its answer was lost.
      Job job = ended.tries > 1 ? get(id) : null;
      if (job != null && job.state() == JobState.CANCELLED) return job;
      throw ended;
    }
  }

  @Override
  public Job retry(String id) {
    String target = Target.path("/v1/jobs/", id, "/retry");
    Request request = new Request("POST", target, "{}", Map.of(), Replay.IF_NOT_BEGUN);
    return read(transport.call(request), Job.class);
  }

  /**
   * Deletes a job that is not running.
   *
   * @param id the job's id
   * @throws MillraceException.NotFound if there is no such job
   * @throws MillraceException.InvalidState if it is running
   */
  public void delete(String id) {
    delete(Target.path("/v1/jobs/", id), Map.of());
  }

  /**
   * Returns all queues, by name.
   *
   * @return the queues
   */
  public List<Queue> queues() {
    return all("/v1/queues", Map.of(), Queue.class);
  }

  /**
   * Returns a queue.
   *
   * @param name its name
   * @return the queue
   * @throws MillraceException.NotFound if no queue ever had this name
   */
  public Queue queue(String name) {
    return get(Target.path("/v1/queues/", name), Queue.class);
  }

  /**
   * Replaces the settings of a queue, or creates it. Settings that are not set take their defaults.
   *
   * @param name its name
   * @param settings the settings
   * @return the queue
   */
  public Queue putQueue(String name, QueueSettings settings) {
    return putQueue(name, settings, null);
  }

  /**
   * Replaces the settings of a queue if it still has the expected version.
   *
   * @param name its name
   * @param settings the settings
   * @param version the version expected; null for any
   * @return the queue
   * @throws MillraceException.VersionConflict if it has another version
   */
  public Queue putQueue(String name, QueueSettings settings, Long version) {
    return change("PUT", name, settings, version, Replay.ALWAYS);
  }

  /**
   * Changes some settings of a queue; the others stay unchanged.
   *
   * @param name its name
   * @param settings the settings to change
   * @return the queue
   * @throws MillraceException.NotFound if there is no such queue
   */
  public Queue patchQueue(String name, QueueSettings settings) {
    return patchQueue(name, settings, null);
  }

  /**
   * Changes some settings of a queue if it still has the expected version.
   *
   * @param name its name
   * @param settings the settings to change
   * @param version the version expected; null for any
   * @return the queue
   * @throws MillraceException.VersionConflict if it has another version
   */
  public Queue patchQueue(String name, QueueSettings settings, Long version) {
    return change("PATCH", name, settings, version, Replay.IF_NOT_BEGUN);
  }

  private Queue change(
      String method, String name, QueueSettings settings, Long version, Replay replay) {
    String target = Target.path("/v1/queues/", name);
    Request request = new Request(method, target, codec.write(settings), ifMatch(version), replay);
    return read(transport.call(request), Queue.class);
  }

  /**
   * Stops handing out the jobs of a queue. Submissions are still accepted.
   *
   * @param name its name
   * @param reason a note for people, at most 1,024 bytes; may be null
   * @return the queue
   */
  public Queue pauseQueue(String name, String reason) {
    return post(Target.path("/v1/queues/", name, "/pause"), reasonBody(reason), Queue.class);
  }

  /**
   * Resumes handing out the jobs of a queue.
   *
   * @param name its name
   * @return the queue
   */
  public Queue resumeQueue(String name) {
    return post(Target.path("/v1/queues/", name, "/resume"), null, Queue.class);
  }

  /**
   * Deletes a queue that has no jobs.
   *
   * @param name its name
   * @throws MillraceException.InvalidState if it has jobs, including ended ones that are kept
   */
  public void deleteQueue(String name) {
    deleteQueue(name, false);
  }

  /**
   * Deletes a queue.
   *
   * @param name its name
   * @param force deletes its jobs too, unless some are running
   * @throws MillraceException.InvalidState if its jobs prevent it
   */
  public void deleteQueue(String name, boolean force) {
    Map<String, Boolean> parameters = force ? Map.of("force", true) : Map.of();
    delete(Target.query(Target.path("/v1/queues/", name), parameters), Map.of());
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
    delete(Target.path("/v1/schedules/", name), Map.of());
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

  // A call that creates jobs. Its key makes it idempotent.
  private static Request once(String target, String body) {
    Map<String, String> key = Map.of("Idempotency-Key", UUID.randomUUID().toString());
    return new Request("POST", target, body, key, Replay.ALWAYS);
  }

  private static Map<String, String> ifMatch(Long version) {
    return version == null ? Map.of() : Map.of("If-Match", "\"" + version + "\"");
  }

  private String reasonBody(String reason) {
    return reason == null ? "{}" : codec.write(Map.of("reason", reason));
  }

  private <T> T get(String target, Class<T> type) {
    return read(transport.call(Request.get(target)), type);
  }

  private <T> T post(String target, String body, Class<T> type) {
    return read(transport.call(Request.post(target, body)), type);
  }

  private void delete(String target, Map<String, String> headers) {
    transport.call(new Request("DELETE", target, null, headers, Replay.ALWAYS));
  }

  private <T> Page<T> page(String path, Map<String, ?> parameters, Class<T> item) {
    Answer answer = transport.call(Request.get(Target.query(path, parameters)));
    try {
      return codec.readPage(answer.body(), item);
    } catch (CodecException notOurs) {
      throw Problems.badAnswer(answer.status(), answer.body(), null);
    }
  }

  private <T> List<T> all(String path, Map<String, String> filter, Class<T> item) {
    List<T> items = new ArrayList<>();
    Map<String, Object> parameters = new HashMap<>(filter);
    parameters.put("limit", 1000);
    Pages<T> pages =
        new Pages<>(
            null,
            cursor -> {
              if (cursor != null) parameters.put("cursor", cursor);
              return page(path, parameters, item);
            });
    pages.forEachRemaining(items::add);
    return items;
  }

  private <T> T read(Answer answer, Class<T> type) {
    try {
      T value = codec.read(answer.body(), type);
      if (value != null) return value;
    } catch (CodecException notOurs) {
      // Falls through.
    }
    throw Problems.badAnswer(answer.status(), answer.body(), null);
  }
}
