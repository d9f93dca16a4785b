package dev.millrace;

import java.time.Instant;
import java.util.Map;

/** A past range of a schedule. Immutable. */
public final class Backfill extends Members<Backfill> {
  private Backfill(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a range of instants.
   *
   * @param from its start, inclusive
   * @param to its end, exclusive and not later than now
   * @return the range
   */
  public static Backfill of(Instant from, Instant to) {
    return new Backfill(Map.of("from", from, "to", to));
  }

  @Override
  Backfill copy(Map<String, Object> named) {
    return new Backfill(named);
  }

  /**
   * Sets the maximum number of jobs to submit in one call.
   *
   * @param jobs from 1 to 1,000, which is the default
   * @return a changed copy
   */
  public Backfill limit(int jobs) {
    return with("limit", jobs);
  }

  /**
   * Only counts the jobs, without submitting them.
   *
   * @return a changed copy
   */
  public Backfill dryRun() {
    return with("dry_run", true);
  }

  /**
   * Includes instants older than the queue's retention, whose jobs may have run already.
   *
   * @return a changed copy
   */
  public Backfill rerun() {
    return with("rerun", true);
  }
}
