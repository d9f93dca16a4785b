package dev.millrace;

/** What the successors of a job with an order key do while it retries. */
public enum OrderOnFailure {
  /** They wait. */
  HOLD,
  /** They pass it. */
  PASS
}
