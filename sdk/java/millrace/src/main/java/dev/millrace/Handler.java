package dev.millrace;

/**
 * Works on jobs of one type. Many threads call it at a time, each for a job of its own. It may run
 * again for the same job: after a failure, and after a crash also if it had done its work.
 *
 * @param <P> the payload
 */
@FunctionalInterface
public interface Handler<P> {
  /**
   * Works on a job. The thread is interrupted when the handler is told to end.
   *
   * @param payload what the job was submitted with
   * @param context the job, and what a handler may do with it
   * @return the job's result: any value that the client's codec knows, an {@link Outcome}, or null
   * @throws Exception the attempt has failed; an {@link OutcomeException} says how else it ended
   */
  Object handle(P payload, JobContext context) throws Exception;

  /**
   * A handler whose jobs have no result.
   *
   * @param <P> the payload
   */
  @FunctionalInterface
  interface NoResult<P> {
    /**
     * Works on a job.
     *
     * @param payload what the job was submitted with
     * @param context the job, and what a handler may do with it
     * @throws Exception as {@link Handler#handle}
     */
    void handle(P payload, JobContext context) throws Exception;
  }
}
