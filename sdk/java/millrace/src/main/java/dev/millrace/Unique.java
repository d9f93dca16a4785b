// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;

/**
 * A unique key, which allows one job per key within its queue.
 *
 * @param key The key. 1 to 255 characters.
 * @param held How long the key is held at least. Default until the job has ended. At most 10 years.
 * @param onConflict {@code return} the holder, {@code reject} with 409 {@code duplicate_job}, or
 *     {@code replace}: cancel a waiting holder (a running one is 409). {@code debounce}: a waiting
 *     holder takes the new payload, and starts {@code delay_ms} after the newest submission (its
 *     backoff is never shortened; another type is 409). A running holder lets one new job wait; if
 *     it fails without having ended, it is cancelled as {@code superseded}. With {@code held},
 *     {@code return} is a throttle. Default {@code return}.
 * @param maxWait With {@code debounce}: the longest time from the first submission to the start. At
 *     most 10 years.
 */
public record Unique(
    String key, @JsonName("for_ms") Duration held, OnConflict onConflict, Duration maxWait) {
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
