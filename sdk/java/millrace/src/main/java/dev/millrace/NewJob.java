package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A job to submit. Only the type is required; the server checks the bounds. Immutable: each method
 * gives a changed copy.
 *
 * <pre>{@code
 * client.submit(NewJob.of("report").payload(new Report("acme")).delay(Duration.ofMinutes(5)));
 * }</pre>
 */
public final class NewJob extends Members<NewJob> {
  NewJob(Map<String, Object> named) {
    super(named);
  }

  /**
   * A job of a type.
   *
   * @param type 1 to 128 characters of {@code A-Za-z0-9._:/-}
   * @return the job
   */
  public static NewJob of(String type) {
    return new NewJob(Map.of("type", type));
  }

  @Override
  NewJob copy(Map<String, Object> named) {
    return new NewJob(named);
  }

  /**
   * What the handler gets.
   *
   * @param payload a value that the client's codec knows, or a {@link Json}; at most 1 MiB as JSON
   * @return a changed copy
   */
  public NewJob payload(Object payload) {
    return with("payload", payload);
  }

  /**
   * Where it waits.
   *
   * @param queue the queue's name; without one it is {@code default}
   * @return a changed copy
   */
  public NewJob queue(String queue) {
    return with("queue", queue);
  }

  /**
   * An id of the application's own, instead of one that the client makes.
   *
   * @param id a UUIDv7, as {@link MillraceClient#makeId} makes them
   * @return a changed copy
   */
  public NewJob id(String id) {
    return with("id", id);
  }

  /**
   * A key under which the server accepts this submission once in 24 hours. The client then makes no
   * id.
   *
   * @param key 1 to 255 visible ASCII characters
   * @return a changed copy
   */
  public NewJob idempotencyKey(String key) {
    return with("idempotency_key", key);
  }

  /**
   * Makes it run sooner or later than others of its queue.
   *
   * @param priority from -32,768 to 32,767; lower numbers run first, the default is 0
   * @return a changed copy
   */
  public NewJob priority(int priority) {
    return with("priority", priority);
  }

  /**
   * The earliest start.
   *
   * @param at the instant; not together with a delay
   * @return a changed copy
   */
  public NewJob runAt(Instant at) {
    return with("run_at", at);
  }

  /**
   * How long it waits at least.
   *
   * @param delay from now, to the millisecond, at most 10 years
   * @return a changed copy
   */
  public NewJob delay(Duration delay) {
    return with("delay_ms", delay);
  }

  /**
   * The latest start: a job that has not started by then ends as expired.
   *
   * @param at the instant
   * @return a changed copy
   */
  public NewJob expiresAt(Instant at) {
    return with("expires_at", at);
  }

  /**
   * The latest start, counted from the submission.
   *
   * @param time to the millisecond, at most 10 years
   * @return a changed copy
   */
  public NewJob expiresIn(Duration time) {
    return with("expires_in_ms", time);
  }

  /**
   * How often it may be tried.
   *
   * @param attempts from 1 to 1,000; without it the queue's
   * @return a changed copy
   */
  public NewJob maxAttempts(int attempts) {
    return with("max_attempts", attempts);
  }

  /**
   * How long it waits between attempts.
   *
   * @param policy without one the queue's
   * @return a changed copy
   */
  public NewJob retry(RetryPolicy policy) {
    return with("retry", policy);
  }

  /**
   * The length of its leases.
   *
   * @param lease from a second to a day; without it the queue's
   * @return a changed copy
   */
  public NewJob lease(Duration lease) {
    return with("lease_ms", lease);
  }

  /**
   * The bound on one attempt, however often its lease is extended.
   *
   * @param timeout to the millisecond; without it there is none
   * @return a changed copy
   */
  public NewJob timeout(Duration timeout) {
    return with("timeout_ms", timeout);
  }

  /**
   * Lets no second job with this key be, until this one has ended.
   *
   * @param key 1 to 255 bytes
   * @return a changed copy
   */
  public NewJob unique(String key) {
    return unique(new Unique(key, null, Unique.OnConflict.RETURN));
  }

  /**
   * Lets no second job with this key be.
   *
   * @param unique the key, for how long, and what happens to a second one
   * @return a changed copy
   */
  public NewJob unique(Unique unique) {
    return with("unique", unique);
  }

  /**
   * The limits that it must pass.
   *
   * @param limits at most 8, those of its queue included
   * @return a changed copy
   */
  public NewJob limits(JobLimit... limits) {
    return with("limits", List.of(limits));
  }

  /**
   * Makes it wait for its turn: jobs of one key of a queue run one at a time, in order.
   *
   * @param key 1 to 128 bytes
   * @return a changed copy
   */
  public NewJob orderKey(String key) {
    return with("order_key", key);
  }

  /**
   * Whether its successors wait while it retries.
   *
   * @param choice without one they wait
   * @return a changed copy
   */
  public NewJob orderOnFailure(OrderOnFailure choice) {
    return with("order_on_failure", choice);
  }

  /**
   * Whose share of a queue with {@code fair} it takes.
   *
   * @param key 1 to 128 bytes
   * @return a changed copy
   */
  public NewJob fairKey(String key) {
    return with("fair_key", key);
  }

  /**
   * Words to find it by.
   *
   * @param tags at most 32
   * @return a changed copy
   */
  public NewJob tags(String... tags) {
    return with("tags", List.of(tags));
  }

  /**
   * The application's own strings, which its handler sees.
   *
   * @param meta at most 8 KiB
   * @return a changed copy
   */
  public NewJob meta(Map<String, String> meta) {
    return with("meta", Map.copyOf(meta));
  }

  /**
   * The trace that it belongs to. Without it the client names the current one.
   *
   * @param trace W3C trace context
   * @return a changed copy
   */
  public NewJob trace(TraceContext trace) {
    NewJob traced = with("traceparent", trace.traceparent());
    return trace.tracestate() == null ? traced : traced.with("tracestate", trace.tracestate());
  }

  /**
   * What the job is.
   *
   * @return the type's name
   */
  public String type() {
    return get("type");
  }

  /**
   * Where it will wait.
   *
   * @return the queue's name
   */
  public String queue() {
    return named().containsKey("queue") ? get("queue") : "default";
  }
}
