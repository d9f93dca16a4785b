package dev.millrace;

/** Where a job is in its life. The last four are final. */
public enum JobState {
  /** Waits for its time. */
  SCHEDULED,
  /** Waits for a worker. */
  READY,
  /** A worker has it under a lease. */
  RUNNING,
  /** Waits for its next attempt. */
  RETRYING,
  /** Waits for other jobs. */
  BLOCKED,
  /** Has ended well. */
  SUCCEEDED,
  /** Has failed for good. */
  DEAD,
  /** Was cancelled. */
  CANCELLED,
  /** Had not started when its time was over. */
  EXPIRED,
  /** Is gone; only its id is known, by a key that still holds. */
  PRUNED;

  /**
   * Whether a job in this state has ended.
   *
   * @return true for a job that only a retry by hand runs again
   */
  public boolean isFinal() {
    return compareTo(SUCCEEDED) >= 0;
  }
}
