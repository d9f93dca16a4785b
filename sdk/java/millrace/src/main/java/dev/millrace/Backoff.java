package dev.millrace;

import static dev.millrace.Constants.FIRST_PAUSE;
import static dev.millrace.Constants.LONGEST_PAUSE;

import java.util.concurrent.ThreadLocalRandom;

/** Pauses between tries: random between 0 and 100 ms * 2^n, at most 5 s. For one thread. */
final class Backoff {
  private static final int MAX_DOUBLINGS = 6;

  private int failures;

  long nextNanos() {
    long bound = Math.min(FIRST_PAUSE << Math.min(failures++, MAX_DOUBLINGS), LONGEST_PAUSE);
    return ThreadLocalRandom.current().nextLong(bound + 1);
  }

  void reset() {
    failures = 0;
  }
}
