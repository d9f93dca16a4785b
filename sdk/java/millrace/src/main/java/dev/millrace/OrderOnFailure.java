package dev.millrace;

/** Says whether the successors of a job with an order key wait while it retries. */
public enum OrderOnFailure {
  /** They wait. */
  HOLD,
  /** They pass it. */
  PASS
}
