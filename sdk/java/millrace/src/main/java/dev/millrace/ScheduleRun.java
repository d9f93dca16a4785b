// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;

/**
 * The result of an instant of a schedule.
 *
 * @param scheduledAt the instant; with {@code count}, the newest of them
 * @param at when this was decided
 * @param jobId the job, if one was submitted; else null
 * @param workflowId The workflow, if one was created. Left out if none was.
 * @param outcome {@code submitted}: a job or workflow was made. {@code replaced}: a job was made
 *     after the previous one was cancelled. {@code skipped_overlap}: no job, because of {@code
 *     overlap}; also if the instant waited and a later one replaced it. {@code skipped_missed}: no
 *     job, because the instant was missed and {@code missed} skips it. {@code refused}: the job
 *     could not be submitted, for instance because the queue was full. The schedule retries it
 *     until the next instant, and only then makes this entry.
 * @param count with {@code skipped_missed}, how many instants the entry stands for, if not one
 * @param error with {@code refused}, why
 */
public record ScheduleRun(
    Instant scheduledAt,
    Instant at,
    String jobId,
    String workflowId,
    Outcome outcome,
    Integer count,
    String error) {

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
