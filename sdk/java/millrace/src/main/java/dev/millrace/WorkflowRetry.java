package dev.millrace;

import java.util.Map;

/** What a retry of a workflow runs again, and how. Immutable. */
public final class WorkflowRetry extends WorkflowRetryMembers {
  private WorkflowRetry(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a retry of the members whose failure nothing caught.
   *
   * @return the retry
   */
  public static WorkflowRetry create() {
    return new WorkflowRetry(Map.of());
  }

  @Override
  WorkflowRetry copy(Map<String, Object> named) {
    return new WorkflowRetry(named);
  }
}
