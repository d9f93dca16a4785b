package dev.millrace;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A job to submit. Only the type is required; the server checks the bounds. Immutable: each method
 * returns a changed copy.
 *
 * <pre>{@code
 * client.submit(NewJob.of("report").payload(new Report("acme")).delay(Duration.ofMinutes(5)));
 * }</pre>
 */
public final class NewJob extends NewJobMembers {
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
   * Allows no second job with this key until this one has ended.
   *
   * @param key 1 to 255 bytes
   * @return a changed copy
   */
  public NewJob unique(String key) {
    return unique(new Unique(key, null, Unique.OnConflict.RETURN));
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

  /** Returns the job with what it does not set of these defaults, which may be null. */
  NewJob over(NewJob defaults) {
    if (defaults == null) return this;
    Map<String, Object> all = new LinkedHashMap<>(defaults.named());
    all.putAll(named());
    return new NewJob(all);
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
