package dev.millrace;

import java.time.Duration;

/**
 * A unique key: one job for each key within its queue.
 *
 * @param key 1 to 255 bytes
 * @param held how long the key holds after the submission, also past the job's end; null: until the
 *     job has ended
 * @param onConflict what happens to a second submission
 */
public record Unique(String key, @JsonName("for_ms") Duration held, OnConflict onConflict) {
  /** What happens to a second submission with the same key. */
  public enum OnConflict {
    /** It gets the existing job. */
    RETURN,
    /** It is refused with {@link MillraceException.DuplicateJob}. */
    REJECT,
    /** It cancels the waiting job and takes its place. */
    REPLACE
  }
}
