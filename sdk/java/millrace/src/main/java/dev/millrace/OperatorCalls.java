package dev.millrace;

import dev.millrace.Transport.Replay;
import dev.millrace.Transport.Request;
import dev.millrace.internal.json.JsonWriter;
import java.util.List;
import java.util.Map;

/** The client's calls for operators: many jobs at once, workers, events and statistics. */
abstract class OperatorCalls extends WorkflowCalls {
  OperatorCalls(Transport transport, ApiCodec codec, Preparer preparer) {
    super(transport, codec, preparer);
  }

  private record Changed(
      long matched, long changed, long failed, boolean more, List<Wire.Stored> results) {}

  /**
   * Retries, cancels, deletes or reprioritizes many jobs. It is not repeated after a lost answer.
   *
   * @param request the action, and the jobs by ids or by a filter
   * @return the numbers of jobs; or the operation that goes on, if the request asks for one or more
   *     than 100,000 jobs match
   */
  public BulkResult bulk(BulkRequest request) {
    String body = request.write(codec);
    Transport.Answer answer =
        transport.call(new Request("POST", "/v1/jobs/bulk", body, Map.of(), Replay.IF_NOT_BEGUN));
    if (answer.status() == 202) return BulkResult.of(read(answer, Operation.class));
    Changed changed = read(answer, Changed.class);
    List<Wire.Stored> results = changed.results() == null ? List.of() : changed.results();
    return new BulkResult(
        changed.matched(),
        changed.changed(),
        changed.failed(),
        changed.more(),
        results.stream().map(Wire.Stored::item).toList(),
        null);
  }

  /**
   * Returns the operations of the last days, newest first.
   *
   * @return the operations
   */
  public List<Operation> operations() {
    return all("/v1/operations", Map.of(), Operation.class);
  }

  /**
   * Returns the operations in a state, newest first.
   *
   * @param state {@code running}, {@code paused}, {@code completed}, {@code cancelled} or {@code
   *     failed}
   * @return the operations
   */
  public List<Operation> operations(String state) {
    return all("/v1/operations", Map.of("state", state), Operation.class);
  }

  /**
   * Returns an operation.
   *
   * @param id its id
   * @return the operation
   * @throws MillraceException.NotFound if there is no such operation
   */
  public Operation operation(String id) {
    return get(Target.path("/v1/operations/", id), Operation.class);
  }

  /**
   * Pauses an operation.
   *
   * @param id its id
   * @return the operation
   */
  public Operation pauseOperation(String id) {
    return order(id, "/pause");
  }

  /**
   * Lets a paused operation go on.
   *
   * @param id its id
   * @return the operation
   */
  public Operation resumeOperation(String id) {
    return order(id, "/resume");
  }

  /**
   * Ends an operation. What it has changed stays changed.
   *
   * @param id its id
   * @return the operation
   * @throws MillraceException.InvalidState if it has ended
   */
  public Operation cancelOperation(String id) {
    return order(id, "/cancel");
  }

  /**
   * Sets how many jobs an operation changes a second.
   *
   * @param id its id
   * @param perSecond the number; null for no limit
   * @return the operation
   */
  public Operation setOperationRate(String id, Long perSecond) {
    JsonWriter body = new JsonWriter().begin('{').name("rate_per_s");
    body.raw(String.valueOf(perSecond)).end('}');
    String target = Target.path("/v1/operations/", id);
    Request request = new Request("PATCH", target, body.toString(), Map.of(), Replay.ALWAYS);
    return read(transport.call(request), Operation.class);
  }

  private Operation order(String id, String word) {
    return post(Target.path("/v1/operations/", id, word), null, Operation.class);
  }

  /**
   * Returns the workers that were seen in the last minutes or hold a lease.
   *
   * @return the workers
   */
  public List<SeenWorker> workers() {
    return all("/v1/workers", Map.of(), SeenWorker.class);
  }

  /**
   * Tells a worker to claim no more jobs. It hears it with its next request.
   *
   * @param id its name
   * @return the worker
   */
  public SeenWorker quietWorker(String id) {
    return post(Target.path("/v1/workers/", id, "/quiet"), null, SeenWorker.class);
  }

  /**
   * Tells a worker to end after its current jobs.
   *
   * @param id its name
   * @return the worker
   */
  public SeenWorker stopWorker(String id) {
    return post(Target.path("/v1/workers/", id, "/stop"), null, SeenWorker.class);
  }

  /**
   * Returns a page of the event log, oldest first. Its {@code nextCursor} is never null: it is the
   * position after the page.
   *
   * @param filter selects the events and the page
   * @return the page
   */
  public Page<JobEvent> events(EventFilter filter) {
    return page("/v1/events", filter.named(), JobEvent.class, filter.waits());
  }

  /**
   * Returns numbers of events in columns of time, and percentiles of wait and run time.
   *
   * @param filter the time, the width of the columns, and the groups
   * @return the columns, oldest first
   */
  public Stats stats(StatsFilter filter) {
    return get(Target.query("/v1/stats", filter.named()), Stats.class);
  }

  /**
   * Says why a job is not running.
   *
   * @param id the job's id
   * @return every reason why it waits, in the order in which a claim meets them
   * @throws MillraceException.NotFound if there is no such job
   * @throws MillraceException.InvalidState if it has ended
   */
  public Why why(String id) {
    return get(Target.path("/v1/jobs/", id, "/why"), Why.class);
  }

  /**
   * Makes any other call of the API, with the client's token, deadline and errors. GET, PUT and
   * DELETE are repeated after a lost answer; other methods only if the server cannot have begun.
   *
   * @param method the HTTP method
   * @param path from the root, such as {@code /v1/meta}; its parts must be percent-encoded
   * @param query parameters, encoded here
   * @param body any value that has a form in JSON, or null
   * @return the answer's JSON; null if it has no body
   */
  public Json call(String method, String path, Map<String, ?> query, Object body) {
    boolean isRepeatable = List.of("GET", "PUT", "DELETE").contains(method);
    Replay replay = isRepeatable ? Replay.ALWAYS : Replay.IF_NOT_BEGUN;
    String text = body == null ? null : Json.encoded(body, codec.payloads()).text();
    String target = Target.query(path, query);
    String answer = transport.call(new Request(method, target, text, Map.of(), replay)).body();
    return answer.isEmpty() ? null : Json.trusted(answer, codec.payloads());
  }

  /**
   * Makes any other call of the API that has neither parameters nor a body.
   *
   * @param method the HTTP method
   * @param path from the root
   * @return the answer's JSON; null if it has no body
   */
  public Json call(String method, String path) {
    return call(method, path, Map.of(), null);
  }
}
