package dev.millrace;

/** Why a handler was told to end. */
public enum Told {
  /** Somebody has cancelled the job. */
  CANCELLED,
  /** The attempt's time is over. */
  TIMEOUT,
  /** The lease is over or can't be relied on: another worker may have the job. */
  LEASE_LOST,
  /** The worker stops, and the grace time is over. */
  STOPPING
}
