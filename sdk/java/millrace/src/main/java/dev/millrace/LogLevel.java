package dev.millrace;

/** How much a line of a job's log matters. */
public enum LogLevel {
  /** For those who look for a fault. */
  DEBUG,
  /** What happens in the ordinary course. */
  INFO,
  /** What somebody should look at. */
  WARN,
  /** What went wrong. */
  ERROR
}
