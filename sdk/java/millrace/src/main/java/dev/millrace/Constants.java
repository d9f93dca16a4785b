package dev.millrace;

/**
 * The times, in nanoseconds, and the bounds that all SDKs share: the table in
 * sdk/conformance/README.md.
 */
final class Constants {
  static final long FIRST_PAUSE = Clock.millis(100);
  static final long LONGEST_PAUSE = Clock.millis(5_000);
  static final long LONGEST_WAIT = Clock.millis(60_000);
  static final long COMMIT_PATIENCE = Clock.millis(2_000);
  static final long COMMIT_PAUSE = Clock.millis(100);
  static final long OUTCOME_DELAY = Clock.millis(5);
  static final int MANY_OUTCOMES = 64;
  static final int MOST_ITEMS = 1_000;
  static final int MOST_MEMBERS = 10_000;
  static final int MOST_OUTCOME_BYTES = 4 << 20;
  static final int SLOW_LINE_BYTES_PER_S = 256 << 10;
  static final long PAUSE_AFTER_REFUSAL = Clock.millis(200);
  static final long LEAST_PATIENCE = Clock.millis(500);
  static final long YOUNG_CLAIM = Clock.millis(500);
  static final long LAST_SECOND = Clock.millis(1_000);
  static final long LAST_FLUSH = Clock.millis(10_000);
  static final long REFUSED_FLUSH = Clock.millis(2_000);
  static final long GOODBYE = Clock.millis(1_000);
  static final long QUIET_POLL = Clock.millis(2_000);

  private Constants() {}
}
