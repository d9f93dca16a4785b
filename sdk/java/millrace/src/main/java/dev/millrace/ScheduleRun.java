package dev.millrace;

import java.time.Instant;

/**
 * What became of an instant of a schedule.
 *
 * @param scheduledAt the instant; with a count, the newest of them
 * @param at when this was decided
 * @param jobId the job, if one was submitted; else null
 * @param outcome what was decided
 * @param count how many instants the entry stands for; null for one
 * @param error why it was refused; else null
 */
public record ScheduleRun(
    Instant scheduledAt, Instant at, String jobId, Outcome outcome, Integer count, String error) {

  /** What was decided. */
  public enum Outcome {
    /** There is a job. */
    SUBMITTED,
    /** No job, since the last one had not ended. */
    SKIPPED_OVERLAP,
    /** No job, since the instant was missed. */
    SKIPPED_MISSED,
    /** There is a job, after the one before was cancelled. */
    REPLACED,
    /** No job: it could not be submitted before the next instant came. */
    REFUSED
  }
}
