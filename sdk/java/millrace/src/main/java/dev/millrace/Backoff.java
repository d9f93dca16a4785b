package dev.millrace;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Pauses between tries: random between 0 and 100 ms * 2^n, at most 5 s. For one thread. */
final class Backoff {
  private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(5);
  private static final int MAX_DOUBLINGS = 6;

  private int failures;

  long nextNanos() {
    long bound = Math.min(FIRST_NANOS << Math.min(failures++, MAX_DOUBLINGS), MAX_NANOS);
    return ThreadLocalRandom.current().nextLong(bound + 1);
  }

  void reset() {
    failures = 0;
  }
}
