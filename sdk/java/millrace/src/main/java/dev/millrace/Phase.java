package dev.millrace;

/** The way of a worker to its end. */
enum Phase {
  CLAIMING,
  /** No further claim; handlers have the grace time. */
  GRACE,
  /** Handlers were told to stop. */
  LAST_WORD,
  /** No handler counts any more; the last outcomes are sent. */
  FLUSHING,
  GOODBYE,
  ENDED
}
