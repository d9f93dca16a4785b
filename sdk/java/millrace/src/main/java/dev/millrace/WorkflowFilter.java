package dev.millrace;

import java.time.Instant;
import java.util.Map;

/**
 * Selects workflows to list, and a page of them. Members that are not set match all workflows.
 * Immutable.
 */
public final class WorkflowFilter extends Members<WorkflowFilter> {
  private WorkflowFilter(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a filter that selects all workflows.
   *
   * @return the filter
   */
  public static WorkflowFilter all() {
    return new WorkflowFilter(Map.of());
  }

  @Override
  WorkflowFilter copy(Map<String, Object> named) {
    return new WorkflowFilter(named);
  }

  /**
   * Selects workflows in one of these states.
   *
   * @param states the states
   * @return a changed copy
   */
  public WorkflowFilter state(WorkflowState... states) {
    return with("state", JobFilter.words(states));
  }

  /**
   * Selects workflows of a queue, which may differ from those of their members.
   *
   * @param queue its name
   * @return a changed copy
   */
  public WorkflowFilter queue(String queue) {
    return with("queue", queue);
  }

  /**
   * Selects workflows with a name.
   *
   * @param name the name
   * @return a changed copy
   */
  public WorkflowFilter name(String name) {
    return with("name", name);
  }

  /**
   * Selects workflows with a tag.
   *
   * @param tag the tag
   * @return a changed copy
   */
  public WorkflowFilter tag(String tag) {
    return with("tag", tag);
  }

  /**
   * Selects workflows that were created at this time or later.
   *
   * @param time the instant
   * @return a changed copy
   */
  public WorkflowFilter createdAfter(Instant time) {
    return with("created_after", time);
  }

  /**
   * Selects workflows that were created before this time.
   *
   * @param time the instant
   * @return a changed copy
   */
  public WorkflowFilter createdBefore(Instant time) {
    return with("created_before", time);
  }

  /**
   * Waits until the list shows all changes acknowledged before the call.
   *
   * @return a changed copy
   */
  public WorkflowFilter fresh() {
    return with("fresh", true);
  }

  /**
   * Sets the maximum number of workflows in a page.
   *
   * @param limit from 1 to 1,000; the default is 50
   * @return a changed copy
   */
  public WorkflowFilter limit(int limit) {
    return with("limit", limit);
  }

  /**
   * Sets where the page begins.
   *
   * @param cursor the {@code nextCursor} of the previous page; null for the first one
   * @return a changed copy
   */
  public WorkflowFilter cursor(String cursor) {
    return cursor == null ? without("cursor") : with("cursor", cursor);
  }

  String cursor() {
    return get("cursor");
  }
}
