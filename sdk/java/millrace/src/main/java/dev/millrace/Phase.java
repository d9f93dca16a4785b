package dev.millrace;

/** The phases of a worker's stop. */
enum Phase {
  CLAIMING,
  /** The worker claims no more; handlers have the grace time. */
  GRACE,
  /** Handlers were told to stop. */
  LAST_WORD,
  /** Handlers no longer matter; the last outcomes are sent. */
  FLUSHING,
  GOODBYE,
  ENDED
}
