package dev.millrace;

import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The operations of applications on jobs. {@link MillraceClient} performs them on a server, {@link
 * Fake} without one. Code that takes this type can be tested without a server.
 */
public interface Jobs {
  /**
   * Submits a job. The call is idempotent: the server recognizes the job by its id or key.
   *
   * @param job the job
   * @return the job as stored by the server, once it is on disk
   * @throws MillraceException if the server refuses it or can't be reached
   * @throws CodecException if the payload can't be written as JSON
   */
  Submitted submit(NewJob job);

  /**
   * Submits a job of a type.
   *
   * @param <P> the payload
   * @param type the type
   * @param payload the payload
   * @return the job as stored by the server
   * @throws MillraceException as for {@link #submit(NewJob)}
   */
  default <P> Submitted submit(JobType<P> type, P payload) {
    return submit(type.job(payload));
  }

  /**
   * Submits a job of a type with options.
   *
   * <pre>{@code
   * client.submit(MAIL, mail, job -> job.delay(Duration.ofMinutes(5)).unique("welcome:" + user));
   * }</pre>
   *
   * @param <P> the payload
   * @param type the type
   * @param payload the payload
   * @param options changes the type's defaults
   * @return the job as stored by the server
   * @throws MillraceException as for {@link #submit(NewJob)}
   */
  default <P> Submitted submit(JobType<P> type, P payload, UnaryOperator<NewJob> options) {
    return submit(options.apply(type.job(payload)));
  }

  /**
   * Submits up to 1,000 jobs in one call. The server accepts or refuses each job separately.
   *
   * @param jobs the jobs
   * @return an answer for each job, in their order
   * @throws MillraceException if the call as a whole fails
   */
  List<BatchItem> submitBatch(List<NewJob> jobs);

  /**
   * Submits up to 1,000 jobs, all or none.
   *
   * @param jobs the jobs
   * @return an answer for each job, in their order
   * @throws MillraceException if one of them is refused: then none is stored
   */
  List<BatchItem> submitAtomically(List<NewJob> jobs);

  /**
   * Returns a job in its current state.
   *
   * @param id the job's id
   * @param include members that the answer contains only on request
   * @return the job
   * @throws MillraceException.NotFound if there is no such job
   */
  Job get(String id, Job.Include... include);

  /**
   * Returns a page of jobs, newest first. Jobs submitted within the last second may be missing.
   *
   * @param filter selects the jobs and the page
   * @return the page
   * @throws MillraceException if the filter is not valid
   */
  Page<Job> list(JobFilter filter);

  /**
   * Returns all jobs that a filter selects, newest first, fetched page by page as they are used.
   *
   * @param filter selects the jobs; its limit is the size of a page
   * @return the jobs; iterating throws what {@link #list} throws
   */
  default Iterable<Job> listAll(JobFilter filter) {
    return () -> new Pages<>(filter.cursor(), cursor -> list(filter.cursor(cursor)));
  }

  /**
   * Cancels a job. A waiting job is cancelled at once; the handler of a running one is told.
   *
   * @param id the job's id
   * @param reason a note for people, at most 1,024 bytes; may be null
   * @return the job
   * @throws MillraceException.NotFound if there is no such job
   * @throws MillraceException.InvalidState if it has ended
   */
  Job cancel(String id, String reason);

  /**
   * Makes a job that has ended ready again, with its full number of attempts.
   *
   * @param id the job's id
   * @return the job
   * @throws MillraceException.NotFound if there is no such job
   * @throws MillraceException.InvalidState if it has not ended
   */
  Job retry(String id);
}
