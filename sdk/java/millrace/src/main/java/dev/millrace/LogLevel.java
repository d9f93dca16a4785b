package dev.millrace;

/** The level of a line of a job's log. */
public enum LogLevel {
  /** Details for debugging. */
  DEBUG,
  /** Normal operation. */
  INFO,
  /** A problem that somebody should look at. */
  WARN,
  /** An error. */
  ERROR
}
