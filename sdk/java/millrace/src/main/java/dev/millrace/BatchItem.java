package dev.millrace;

/**
 * The answer to one job of a batch.
 *
 * @param status 201 for a new job, 200 for a known one, else the status of the refusal
 * @param id the job's id, even if it was refused; null if it has none
 * @param state the job's state; null if it was refused
 * @param error why it was refused; null if it was not
 */
public record BatchItem(int status, String id, JobState state, MillraceException error) {
  /**
   * Says whether the server accepted the job.
   *
   * @return false if it was refused
   */
  public boolean isAccepted() {
    return error == null;
  }
}
