package dev.millrace;

/** The state of a member of a workflow. SUCCEEDED and the states after it are final. */
public enum MemberState {
  /** It waits for what it needs. */
  BLOCKED,
  /** It has a job that has not ended. */
  ACTIVE,
  /** Its job has succeeded. */
  SUCCEEDED,
  /** Its job has not succeeded. */
  FAILED,
  /** It never ran. */
  SKIPPED;

  /**
   * Says whether a member in this state has ended.
   *
   * @return true if only a retry of the workflow would bring it back
   */
  public boolean isFinal() {
    return compareTo(SUCCEEDED) >= 0;
  }
}
