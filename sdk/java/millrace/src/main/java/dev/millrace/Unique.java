package dev.millrace;

import java.time.Duration;

/**
 * A unique key, which allows one job per key within its queue.
 *
 * @param key 1 to 255 bytes
 * @param held how long the key is held after the submission, even past the job's end; null means
 *     until the job has ended
 * @param onConflict the handling of a second submission
 * @param maxWait with {@code DEBOUNCE}: the longest time from the first submission to the job's
 *     start; else null
 */
public record Unique(
    String key,
    @JsonName("for_ms") Duration held,
    OnConflict onConflict,
    @JsonName("max_wait_ms") Duration maxWait) {
  /**
   * Creates a key that is not debounced.
   *
   * @param key 1 to 255 bytes
   * @param held how long the key is held; null means until the job has ended
   * @param onConflict the handling of a second submission
   */
  public Unique(String key, Duration held, OnConflict onConflict) {
    this(key, held, onConflict, null);
  }

  /** The handling of a second submission with the same key. */
  public enum OnConflict {
    /** It returns the existing job. */
    RETURN,
    /** It is refused with {@link MillraceException.DuplicateJob}. */
    REJECT,
    /** It cancels the waiting job and takes its place. */
    REPLACE,
    /** The waiting job gets its payload, and starts its delay after the latest submission. */
    DEBOUNCE
  }
}
