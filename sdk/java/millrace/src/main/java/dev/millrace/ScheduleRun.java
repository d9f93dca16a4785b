package dev.millrace;

import java.time.Instant;

/**
 * The result of an instant of a schedule.
 *
 * @param scheduledAt the instant; with a count, the latest one
 * @param at when the result was decided
 * @param jobId the job, if one was submitted; else null
 * @param outcome the result
 * @param count the number of instants that the entry stands for; null for one
 * @param error why it was refused; else null
 */
public record ScheduleRun(
    Instant scheduledAt, Instant at, String jobId, Outcome outcome, Integer count, String error) {

  /** The results. */
  public enum Outcome {
    /** A job was submitted. */
    SUBMITTED,
    /** No job was submitted, since the previous one had not ended. */
    SKIPPED_OVERLAP,
    /** No job was submitted, since the instant was missed. */
    SKIPPED_MISSED,
    /** A job was submitted after the previous one was cancelled. */
    REPLACED,
    /** The job could not be submitted before the next instant. */
    REFUSED
  }
}
