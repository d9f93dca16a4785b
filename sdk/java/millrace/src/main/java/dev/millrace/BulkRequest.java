package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A change of many jobs. Immutable.
 *
 * <pre>{@code
 * client.bulk(BulkRequest.of(BulkRequest.Action.RETRY, JobFilter.all().state(JobState.DEAD)));
 * }</pre>
 */
public final class BulkRequest extends Members<BulkRequest> {
  /** What is done to the jobs. */
  public enum Action {
    /** Jobs that have ended are made ready again. */
    RETRY,
    /** Waiting jobs are cancelled, handlers of running ones are told. */
    CANCEL,
    /** Jobs that are not running are deleted. */
    DELETE,
    /** Waiting jobs get another priority. */
    REPRIORITIZE
  }

  private BulkRequest(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a change of all jobs that a filter selects.
   *
   * @param action what is done to them
   * @param filter selects the jobs; its page and order do not count
   * @return the request
   */
  public static BulkRequest of(Action action, JobFilter filter) {
    Map<String, Object> selected = new LinkedHashMap<>(filter.named());
    for (String other : List.of("limit", "cursor", "include", "fresh")) selected.remove(other);
    if (selected.get("state") instanceof String states) {
      selected.put("state", List.of(states.split(",")));
    }
    return new BulkRequest(Map.of("action", action, "filter", selected));
  }

  /**
   * Returns a change of the jobs with these ids, each of which gets a result.
   *
   * @param action what is done to them
   * @param ids up to 1,000 ids
   * @return the request
   */
  public static BulkRequest of(Action action, List<String> ids) {
    return new BulkRequest(Map.of("action", action, "ids", List.copyOf(ids)));
  }

  @Override
  BulkRequest copy(Map<String, Object> named) {
    return new BulkRequest(named);
  }

  /**
   * Sets the priority that the jobs get.
   *
   * @param priority lower runs first; with {@link Action#REPRIORITIZE}
   * @return a changed copy
   */
  public BulkRequest priority(int priority) {
    return with("priority", priority);
  }

  /**
   * Changes nothing, and only counts the jobs.
   *
   * @return a changed copy
   */
  public BulkRequest dryRun() {
    return with("dry_run", true);
  }

  /**
   * Starts an operation, which the server continues after the call.
   *
   * @return a changed copy
   */
  public BulkRequest asOperation() {
    return with("operation", true);
  }

  /**
   * Starts an operation that changes at most this many jobs a second.
   *
   * @param jobs the number of jobs
   * @return a changed copy
   */
  public BulkRequest ratePerSecond(long jobs) {
    return with("rate_per_s", jobs);
  }

  String write(ApiCodec codec) {
    JsonWriter out = new JsonWriter();
    codec.write(named(), out);
    return out.toString();
  }
}
