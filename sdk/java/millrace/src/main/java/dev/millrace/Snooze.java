package dev.millrace;

import java.time.Duration;

/** Thrown by a handler to run its job again later, without costing an attempt. */
public final class Snooze extends OutcomeException {
  private static final long serialVersionUID = 1;

  /** How long the job waits. */
  private final Duration delay;

  /**
   * Postpones the job.
   *
   * @param delay how long the job waits, with millisecond precision, at most 10 years
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
