import java.util.concurrent.atomic.AtomicLong;

/** Counts the handlers that have run, and tells bench/sdk/run of the first and the last. */
final class Tally {
  private static final AtomicLong COUNT = new AtomicLong();
  private static volatile long jobs;
  private static volatile long first;

  private Tally() {}

  static void expect(long number) {
    jobs = number;
  }

  /** To be called by a handler. */
  static void ran() {
    long count = COUNT.incrementAndGet();
    if (count == 1) {
      first = System.nanoTime();
      System.out.println("began");
    } else if (count == jobs) {
      double seconds = (System.nanoTime() - first) / 1e9;
      System.out.println("ended {\"jobs\": " + count + ", \"seconds\": " + seconds + "}");
    }
  }
}
