package dev.millrace;

/** The state of a workflow. SUCCEEDED and the states after it are final. */
public enum WorkflowState {
  /** Its members run. */
  RUNNING,
  /** Nothing more is released, and running jobs are told. */
  STOPPING,
  /** No workflow has this state yet. */
  COMPENSATING,
  /** No workflow has this state yet. */
  STUCK,
  /** It has succeeded. */
  SUCCEEDED,
  /** A member has failed and nothing caught it, or its time was up. */
  FAILED,
  /** It was cancelled. */
  CANCELLED;

  /**
   * Says whether a workflow in this state has ended.
   *
   * @return true if only a retry would bring it back
   */
  public boolean isFinal() {
    return compareTo(SUCCEEDED) >= 0;
  }
}
