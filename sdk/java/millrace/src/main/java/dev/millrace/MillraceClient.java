package dev.millrace;

import dev.millrace.Transport.Answer;
import dev.millrace.Transport.Replay;
import dev.millrace.Transport.Request;
import dev.millrace.internal.json.JsonWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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
public final class MillraceClient extends OperatorCalls implements Jobs {
  MillraceClient(Transport transport, ApiCodec codec, Preparer preparer) {
    super(transport, codec, preparer);
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
   * Returns the version of this library.
   *
   * @return the version, such as {@code 0.1.0}
   */
  public static String version() {
    return Version.TEXT;
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
  public String submitTx(Connection connection, NewJob job) throws SQLException {
    return new SqlSubmission(preparer.prepare(job), codec).run(connection);
  }

  @Override
  public List<BatchItem> submitBatch(List<NewJob> jobs) {
    return submit(jobs, false);
  }

  @Override
  public List<BatchItem> submitAtomically(List<NewJob> jobs) {
    return submit(jobs, true);
  }

  private record WireItems(List<Wire.Stored> results) {}

  private List<BatchItem> submit(List<NewJob> jobs, boolean atomic) {
    JsonWriter out = new JsonWriter().begin('{');
    out.name("jobs").begin('[');
    for (NewJob job : jobs) codec.writeMembers(preparer.prepare(job).named(), out);
    out.end(']');
    if (atomic) out.name("atomic").raw("true");
    out.end('}');
    WireItems answer = post("/v1/jobs/batch", out.toString(), WireItems.class);
    return answer.results().stream().map(Wire.Stored::item).toList();
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
   * @throws MillraceException.NotFound if there is no such job, also 2 s later: one that was
   *     submitted in a transaction comes a moment after the commit
   */
  public Job waitFor(String id, Duration timeout) {
    String path = Target.path("/v1/jobs/", id);
    return await("job " + id, path, timeout, Job.class, MillraceClient::hasEnded);
  }

  private static boolean hasEnded(Job job) {
    return job.state() != null && job.state().isFinal();
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
    remove(Target.path("/v1/jobs/", id));
  }
}
