package dev.millrace;

import java.time.Duration;

/** The job runs again later; that costs no attempt. */
public final class Snooze extends OutcomeException {
  private static final long serialVersionUID = 1;

  /** How long the job waits. */
  private final Duration delay;

  /**
   * Later.
   *
   * @param delay how long the job waits, to the millisecond, at most 10 years
   */
  public Snooze(Duration delay) {
    super("snoozed for " + delay, null);
    this.delay = delay;
  }

  @Override
  Outcome outcome() {
    return new Outcome.Snoozed(delay);
  }
}
