// Made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.util.List;
import java.util.Map;

/** The members of WorkflowRetry that are set one by one. */
abstract class WorkflowRetryMembers extends Members<WorkflowRetry> {
  WorkflowRetryMembers(Map<String, Object> named) {
    super(named);
  }

  /**
   * Sets {@code refs} of the retry.
   *
   * @param refs The members to retry. Default those whose failure no other member has caught. 1 to
   *     10,000 entries.
   * @return a changed copy
   */
  public WorkflowRetry refs(String... refs) {
    return with("refs", List.of(refs));
  }

  /**
   * Sets {@code resetAttempts} of the retry.
   *
   * @param resetAttempts As of a job's retry. Default {@code true}.
   * @return a changed copy
   */
  public WorkflowRetry resetAttempts(boolean resetAttempts) {
    return with("reset_attempts", resetAttempts);
  }

  /**
   * Sets {@code dropLimits} of the retry.
   *
   * @param dropLimits As of a job's retry. Default {@code false}.
   * @return a changed copy
   */
  public WorkflowRetry dropLimits(boolean dropLimits) {
    return with("drop_limits", dropLimits);
  }
}
