package dev.millrace;

/**
 * Works on jobs of one type. Many threads call it concurrently, each for a different job. It may
 * run again for the same job: after a failure, and after a crash even if the work was done.
 *
 * @param <P> the payload
 * @param <R> the result
 */
@FunctionalInterface
public interface Handler<P, R> {
  /**
   * Works on a job. The thread is interrupted when the handler is told to end.
   *
   * @param payload the job's payload
   * @param context the job, and the operations of its handler
   * @return the job's result: a value that the client's codec supports, or null; where the result
   *     may be any {@code Object}, also an {@link Outcome}
   * @throws Exception if the attempt has failed; an {@link OutcomeException} chooses the outcome
   */
  R handle(P payload, JobContext context) throws Exception;

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
     * @param payload the job's payload
     * @param context the job, and the operations of its handler
     * @throws Exception as for {@link Handler#handle}
     */
    void handle(P payload, JobContext context) throws Exception;
  }
}
