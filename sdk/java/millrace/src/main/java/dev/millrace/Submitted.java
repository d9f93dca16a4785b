package dev.millrace;

/**
 * The answer to a submission.
 *
 * @param job the job, new or known
 * @param isNew false if its id, key or unique key named a job that existed already
 */
public record Submitted(Job job, boolean isNew) {
  /**
   * The job's id.
   *
   * @return a UUIDv7
   */
  public String id() {
    return job.id();
  }
}
