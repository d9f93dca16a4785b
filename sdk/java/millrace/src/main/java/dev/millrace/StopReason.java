package dev.millrace;

/** The reason why a handler was told to end. */
public enum StopReason {
  /** The job was cancelled. */
  CANCELLED,
  /** The attempt has timed out. */
  TIMEOUT,
  /** The lease may have expired, so another worker may have the job. */
  LEASE_LOST,
  /** The worker is stopping, and the grace time is over. */
  STOPPING
}
