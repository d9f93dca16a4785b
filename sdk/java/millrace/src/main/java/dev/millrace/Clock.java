package dev.millrace;

import java.util.concurrent.TimeUnit;

/** The monotonic clock, in nanoseconds since this class was loaded: comparable, never negative. */
final class Clock {
  /** Later than any instant. */
  static final long NEVER = Long.MAX_VALUE;

  private static final long ORIGIN = System.nanoTime();

  private Clock() {}

  static long now() {
    return System.nanoTime() - ORIGIN;
  }

  static long millis(long count) {
    return TimeUnit.MILLISECONDS.toNanos(count);
  }
}
