package dev.millrace;

import java.util.List;
import java.util.function.UnaryOperator;

/**
 * What applications do with jobs: {@link MillraceClient} does it on a server, {@link Fake} without
 * one. Code that only submits takes this type, so that its tests need no server.
 */
public interface Jobs {
  /**
   * Submits a job. The call is safe to repeat: the server knows the job by its id or key.
   *
   * @param job the job
   * @return the job as the server has it, once it is on disk
   * @throws MillraceException if the server refuses it or can't be reached
   * @throws CodecException if the payload has no form in JSON
   */
  Submitted submit(NewJob job);

  /**
   * Submits a job of a type.
   *
   * @param <P> the payload
   * @param type the type
   * @param payload what the handler gets
   * @return the job as the server has it
   * @throws MillraceException as {@link #submit(NewJob)}
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
   * @param payload what the handler gets
   * @param options what differs from the type's defaults
   * @return the job as the server has it
   * @throws MillraceException as {@link #submit(NewJob)}
   */
  default <P> Submitted submit(JobType<P> type, P payload, UnaryOperator<NewJob> options) {
    return submit(options.apply(type.job(payload)));
  }

  /**
   * Submits up to 1,000 jobs in one call. The server accepts or refuses each on its own.
   *
   * @param jobs the jobs
   * @return an answer for each, in their order
   * @throws MillraceException if the call as a whole fails
   */
  List<BatchItem> submitBatch(List<NewJob> jobs);

  /**
   * Submits up to 1,000 jobs, all or none.
   *
   * @param jobs the jobs
   * @return an answer for each, in their order
   * @throws MillraceException if one of them is refused: then none is stored
   */
  List<BatchItem> submitAtomically(List<NewJob> jobs);

  /**
   * One job, as it is now.
   *
   * @param id the job's id
   * @param include members that the answer has only if they are asked for
   * @return the job
   * @throws MillraceException.NotFound if there is no such job
   */
  Job get(String id, Job.Include... include);

  /**
   * A page of jobs, newest first. What was submitted within the last second may be missing.
   *
   * @param filter which jobs, and where the page begins
   * @return the page
   * @throws MillraceException if the filter is not valid
   */
  Page<Job> list(JobFilter filter);

  /**
   * All jobs that a filter matches, newest first; fetched page by page as they are used.
   *
   * @param filter which jobs; its limit is the size of a page
   * @return the jobs; iterating throws what {@link #list} throws
   */
  default Iterable<Job> listAll(JobFilter filter) {
    return () -> new Pages<>(filter.cursor(), cursor -> list(filter.cursor(cursor)));
  }

  /**
   * Cancels a job: at once if it waits; if it runs, its handler is told.
   *
   * @param id the job's id
   * @param reason for those who look later, at most 1,024 bytes; may be null
   * @return the job
   * @throws MillraceException.NotFound if there is no such job
   * @throws MillraceException.InvalidState if it has ended
   */
  Job cancel(String id, String reason);

  /**
   * Makes a job that has ended ready again, with all its attempts before it.
   *
   * @param id the job's id
   * @return the job
   * @throws MillraceException.NotFound if there is no such job
   * @throws MillraceException.InvalidState if it has not ended
   */
  Job retry(String id);
}
