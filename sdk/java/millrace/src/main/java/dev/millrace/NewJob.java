package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A job to submit. Only the type is required; the server checks the bounds. Immutable: each method
 * returns a changed copy.
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
   * Returns a job of a type.
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
   * Sets the payload.
   *
   * @param payload a value that the client's codec supports, or a {@link Json}; at most 1 MiB as
   *     JSON
   * @return a changed copy
   */
  public NewJob payload(Object payload) {
    return with("payload", payload);
  }

  /**
   * Sets the queue.
   *
   * @param queue the queue's name; the default is {@code default}
   * @return a changed copy
   */
  public NewJob queue(String queue) {
    return with("queue", queue);
  }

  /**
   * Sets an id of the application instead of one that the client makes.
   *
   * @param id a UUIDv7 as returned by {@link MillraceClient#makeId}
   * @return a changed copy
   */
  public NewJob id(String id) {
    return with("id", id);
  }

  /**
   * Sets a key under which the server accepts this submission only once in 24 hours. The client
   * then makes no id.
   *
   * @param key 1 to 255 visible ASCII characters
   * @return a changed copy
   */
  public NewJob idempotencyKey(String key) {
    return with("idempotency_key", key);
  }

  /**
   * Sets the priority within its queue.
   *
   * @param priority from -32,768 to 32,767; lower numbers run first, the default is 0
   * @return a changed copy
   */
  public NewJob priority(int priority) {
    return with("priority", priority);
  }

  /**
   * Sets the earliest start.
   *
   * @param at the instant; it excludes a delay
   * @return a changed copy
   */
  public NewJob runAt(Instant at) {
    return with("run_at", at);
  }

  /**
   * Sets the shortest time that it waits.
   *
   * @param delay the time from now, with millisecond precision, at most 10 years
   * @return a changed copy
   */
  public NewJob delay(Duration delay) {
    return with("delay_ms", delay);
  }

  /**
   * Sets the latest start. A job that has not started by then expires.
   *
   * @param at the instant
   * @return a changed copy
   */
  public NewJob expiresAt(Instant at) {
    return with("expires_at", at);
  }

  /**
   * Sets the latest start, counted from the submission.
   *
   * @param time the time, with millisecond precision, at most 10 years
   * @return a changed copy
   */
  public NewJob expiresIn(Duration time) {
    return with("expires_in_ms", time);
  }

  /**
   * Sets the maximum number of attempts.
   *
   * @param attempts from 1 to 1,000; the default is the queue's
   * @return a changed copy
   */
  public NewJob maxAttempts(int attempts) {
    return with("max_attempts", attempts);
  }

  /**
   * Sets the retry policy.
   *
   * @param policy the policy; the default is the queue's
   * @return a changed copy
   */
  public NewJob retry(RetryPolicy policy) {
    return with("retry", policy);
  }

  /**
   * Sets the length of its leases.
   *
   * @param lease from a second to a day; the default is the queue's
   * @return a changed copy
   */
  public NewJob lease(Duration lease) {
    return with("lease_ms", lease);
  }

  /**
   * Sets the timeout of each attempt, which heartbeats do not extend.
   *
   * @param timeout the timeout, with millisecond precision; the default is none
   * @return a changed copy
   */
  public NewJob timeout(Duration timeout) {
    return with("timeout_ms", timeout);
  }

  /**
   * Allows no second job with this key until this one has ended.
   *
   * @param key 1 to 255 bytes
   * @return a changed copy
   */
  public NewJob unique(String key) {
    return unique(new Unique(key, null, Unique.OnConflict.RETURN));
  }

  /**
   * Allows no second job with this key.
   *
   * @param unique the key, how long it is held, and the handling of a second submission
   * @return a changed copy
   */
  public NewJob unique(Unique unique) {
    return with("unique", unique);
  }

  /**
   * Sets the limits that it must pass.
   *
   * @param limits at most 8, including those of its queue
   * @return a changed copy
   */
  public NewJob limits(JobLimit... limits) {
    return with("limits", List.of(limits));
  }

  /**
   * Sets the order key. A queue's jobs with the same key run one at a time, in order.
   *
   * @param key 1 to 128 bytes
   * @return a changed copy
   */
  public NewJob orderKey(String key) {
    return with("order_key", key);
  }

  /**
   * Sets whether its successors wait while it retries.
   *
   * @param choice the default is HOLD
   * @return a changed copy
   */
  public NewJob orderOnFailure(OrderOnFailure choice) {
    return with("order_on_failure", choice);
  }

  /**
   * Sets the key whose share it uses in a queue with {@code fair}.
   *
   * @param key 1 to 128 bytes
   * @return a changed copy
   */
  public NewJob fairKey(String key) {
    return with("fair_key", key);
  }

  /**
   * Sets words to search for.
   *
   * @param tags at most 32
   * @return a changed copy
   */
  public NewJob tags(String... tags) {
    return with("tags", List.of(tags));
  }

  /**
   * Sets the application's own strings, which the handler can read.
   *
   * @param meta at most 8 KiB
   * @return a changed copy
   */
  public NewJob meta(Map<String, String> meta) {
    return with("meta", Map.copyOf(meta));
  }

  /**
   * Sets the trace that it belongs to. The default is the client's current one.
   *
   * @param trace W3C trace context
   * @return a changed copy
   */
  public NewJob trace(TraceContext trace) {
    NewJob traced = with("traceparent", trace.traceparent());
    return trace.tracestate() == null ? traced : traced.with("tracestate", trace.tracestate());
  }

  /**
   * Returns the job's type.
   *
   * @return the type's name
   */
  public String type() {
    return get("type");
  }

  /**
   * Returns the job's queue.
   *
   * @return the queue's name
   */
  public String queue() {
    return named().containsKey("queue") ? get("queue") : "default";
  }
}
