package dev.millrace;

import java.time.Duration;

/**
 * A unique key: one job for each key within its queue.
 *
 * @param key 1 to 255 bytes
 * @param held how long the key holds after the submission, also past the job's end; null: until the
 *     job has ended
 * @param onConflict what happens to a second submission
 * @param maxWait with {@code DEBOUNCE}: the job starts so long after the first submission at the
 *     latest; else null
 */
public record Unique(
    String key,
    @JsonName("for_ms") Duration held,
    OnConflict onConflict,
    @JsonName("max_wait_ms") Duration maxWait) {
  /**
   * A key that is not debounced.
   *
   * @param key 1 to 255 bytes
   * @param held how long the key holds; null: until the job has ended
   * @param onConflict what happens to a second submission
   */
  public Unique(String key, Duration held, OnConflict onConflict) {
    this(key, held, onConflict, null);
  }

  /** What happens to a second submission with the same key. */
  public enum OnConflict {
    /** It gets the existing job. */
    RETURN,
    /** It is refused with {@link MillraceException.DuplicateJob}. */
    REJECT,
    /** It cancels the waiting job and takes its place. */
    REPLACE,
    /** The waiting job takes its payload, and starts its delay after the newest submission. */
    DEBOUNCE
  }
}
