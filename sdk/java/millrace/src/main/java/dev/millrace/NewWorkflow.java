package dev.millrace;

import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * A workflow to create: members that need each other, and what is submitted at its end. Its methods
 * change it; not thread-safe.
 *
 * <pre>{@code
 * NewWorkflow flow = NewWorkflow.of("nightly").queue("sales");
 * NewMember load = flow.add("load", LOAD.job(day));
 * NewMember clean = flow.add("clean", CLEAN.job(day)).needs(load);
 * flow.add("publish", PUBLISH.job(day)).needs(clean);
 * flow.onFailure(PAGE.job("ada"));
 * client.createWorkflow(flow);
 * }</pre>
 */
public final class NewWorkflow extends NewWorkflowMembers {
  private NewWorkflow(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a workflow without a name.
   *
   * @return the workflow
   */
  public static NewWorkflow create() {
    return new NewWorkflow(Map.of());
  }

  /**
   * Returns a workflow with a name.
   *
   * @param name what it is, for people
   * @return the workflow
   */
  public static NewWorkflow of(String name) {
    return create().name(name);
  }

  /**
   * Sets what the jobs of its members and callbacks do not set.
   *
   * @param change sets the defaults
   * @return this
   */
  public NewWorkflow defaults(UnaryOperator<NewJob> change) {
    return with("defaults", change.apply(new NewJob(Map.of())));
  }

  /**
   * Lets it take more members, and end only after it is closed.
   *
   * @return this
   */
  public NewWorkflow open() {
    return with("open", true);
  }

  /**
   * Allows no second workflow with this key in the queue until this one has ended; a second
   * creation returns this one.
   *
   * @param key 1 to 255 bytes
   * @return this
   */
  public NewWorkflow unique(String key) {
    return unique(key, Unique.OnConflict.RETURN);
  }

  /**
   * Allows no second workflow with this key in the queue until this one has ended.
   *
   * @param key 1 to 255 bytes
   * @param onConflict {@code RETURN}, or {@code REJECT} with {@link
   *     MillraceException.DuplicateWorkflow}
   * @return this
   */
  public NewWorkflow unique(String key, Unique.OnConflict onConflict) {
    return with("unique", new Unique(key, null, onConflict));
  }

  /**
   * Sets a key by which the server recognizes a repeated creation. Without it, the workflow's id
   * serves.
   *
   * @param key 1 to 255 visible characters of ASCII
   * @return this
   */
  public NewWorkflow idempotencyKey(String key) {
    return with("idempotency_key", key);
  }

  /** Returns a copy without its members, which later changes do not reach. */
  NewWorkflow settings() {
    return new NewWorkflow(named());
  }

  String queue() {
    String queue = get("queue");
    return queue == null ? "default" : queue;
  }
}
