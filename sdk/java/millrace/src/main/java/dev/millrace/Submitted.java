package dev.millrace;

/**
 * The answer to a submission.
 *
 * @param job the job, new or existing
 * @param isNew false if its id, idempotency key or unique key belongs to an existing job
 */
public record Submitted(Job job, boolean isNew) {
  /**
   * Returns the job's id.
   *
   * @return a UUIDv7
   */
  public String id() {
    return job.id();
  }
}
