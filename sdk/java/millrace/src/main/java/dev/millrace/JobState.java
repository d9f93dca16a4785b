package dev.millrace;

/** The state of a job. SUCCEEDED and the states after it are final. */
public enum JobState {
  /** The job waits for its time. */
  SCHEDULED,
  /** The job waits for a worker. */
  READY,
  /** A worker has a lease on the job. */
  RUNNING,
  /** The job waits for its next attempt. */
  RETRYING,
  /** The job waits for other jobs. */
  BLOCKED,
  /** The job has succeeded. */
  SUCCEEDED,
  /** The job has failed for good. */
  DEAD,
  /** The job was cancelled. */
  CANCELLED,
  /** The job did not start before its expiry. */
  EXPIRED,
  /** The job was removed; its id is known because its idempotency key is still valid. */
  PRUNED;

  /**
   * Says whether a job in this state has ended.
   *
   * @return true if only a manual retry would run the job again
   */
  public boolean isFinal() {
    return compareTo(SUCCEEDED) >= 0;
  }
}
