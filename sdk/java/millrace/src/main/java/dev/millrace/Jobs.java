package dev.millrace;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * What applications do: they submit jobs and look at them, and at their start they declare queues,
 * limits and schedules. {@link MillraceClient} does it on a server, {@link Fake} without one. Code
 * that takes this type can be tested without a server.
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
  default <P> Submitted submit(JobType<P, ?> type, P payload) {
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
  default <P> Submitted submit(JobType<P, ?> type, P payload, UnaryOperator<NewJob> options) {
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

  /**
   * Submits a job if and only if a transaction of the application's own commits. Millrace must keep
   * its jobs in the same PostgreSQL database ({@code serve --postgres}), and the role needs {@code
   * EXECUTE} on {@code millrace.enqueue}.
   *
   * <pre>{@code
   * connection.setAutoCommit(false);
   * // ... INSERT INTO orders ...
   * client.submitTx(connection, CHARGE.job(new Charge("ada", 30)));
   * connection.commit();
   * }</pre>
   *
   * @param connection a connection of PostgreSQL's driver, within a transaction; a fake ignores it
   *     and takes the job at once
   * @param job the job
   * @return its id
   * @throws SQLException if the database refuses it; then the transaction can only be rolled back
   * @throws IllegalStateException if the connection commits by itself
   * @throws CodecException if the payload can't be written as JSON
   */
  String submitTx(Connection connection, NewJob job) throws SQLException;

  /**
   * Submits a job of a type in a transaction of the application's own.
   *
   * @param <P> the payload
   * @param connection as for {@link #submitTx(Connection, NewJob)}
   * @param type the type
   * @param payload the payload
   * @return the job's id
   * @throws SQLException as for {@link #submitTx(Connection, NewJob)}
   */
  default <P> String submitTx(Connection connection, JobType<P, ?> type, P payload)
      throws SQLException {
    return submitTx(connection, type.job(payload));
  }

  /**
   * Creates a workflow, all of it or nothing.
   *
   * @param workflow the workflow
   * @return the workflow as stored
   * @throws MillraceException.ValidationFailed if members need in a circle, or an unknown ref
   */
  CreatedWorkflow createWorkflow(NewWorkflow workflow);

  /**
   * Returns a workflow in its current state.
   *
   * @param id its id
   * @param include what the answer contains only on request
   * @return the workflow
   * @throws MillraceException.NotFound if there is no such workflow
   */
  Workflow workflow(String id, Workflow.Include... include);

  /**
   * Waits until a workflow has ended in any way; check its state.
   *
   * @param id its id
   * @param timeout the longest time to wait
   * @return the workflow with its result
   * @throws MillraceException.WaitTimeout if it has not ended by then
   * @throws MillraceException.NotFound if there is no such workflow
   */
  Workflow waitForWorkflow(String id, Duration timeout);

  /**
   * Returns a page of workflows, newest first.
   *
   * @param filter selects the workflows and the page
   * @return the page
   */
  Page<Workflow> workflows(WorkflowFilter filter);

  /**
   * Returns all workflows that a filter selects, newest first, fetched page by page as they are
   * used.
   *
   * @param filter selects the workflows; its limit is the size of a page
   * @return the workflows; iterating throws what {@link #workflows} throws
   */
  default Iterable<Workflow> allWorkflows(WorkflowFilter filter) {
    return () -> new Pages<>(filter.cursor(), cursor -> workflows(filter.cursor(cursor)));
  }

  /**
   * Returns a page of a workflow's members, by number.
   *
   * @param id the workflow's id
   * @param filter selects the members and the page
   * @return the page
   * @throws MillraceException.NotFound if there is no such workflow
   */
  Page<Member> workflowMembers(String id, MemberFilter filter);

  /**
   * Returns all members of a workflow that a filter selects, by number, fetched page by page as
   * they are used.
   *
   * @param id the workflow's id
   * @param filter selects the members; its limit is the size of a page
   * @return the members; iterating throws what {@link #workflowMembers} throws
   */
  default Iterable<Member> allMembers(String id, MemberFilter filter) {
    return () -> new Pages<>(filter.cursor(), cursor -> workflowMembers(id, filter.cursor(cursor)));
  }

  /**
   * Returns a member of a workflow, with its definition.
   *
   * @param id the workflow's id
   * @param ref the member's ref, or {@code @} and its number
   * @param include what the answer contains only on request
   * @return the member
   * @throws MillraceException.NotFound if there is no such member
   */
  MemberDetail workflowMember(String id, String ref, Member.Include... include);

  /**
   * Adds members to a workflow that is open, or by one of its active members. A member whose ref is
   * there already is left alone.
   *
   * @param id the workflow's id
   * @param members at most 10,000 members
   * @return the numbers of members
   * @throws MillraceException.InvalidState if the workflow is closed
   */
  AddedMembers addMembers(String id, NewMembers members);

  /**
   * Closes an open workflow: it takes no more members from outside, and ends once its members have.
   *
   * @param id its id
   * @return the workflow
   * @throws MillraceException.NotFound if there is no such workflow
   */
  Workflow closeWorkflow(String id);

  /**
   * Cancels a workflow: nothing more is released, waiting jobs are cancelled, and handlers of
   * running ones are told.
   *
   * @param id its id
   * @param reason a note for people, at most 1,024 bytes; may be null
   * @return the workflow
   * @throws MillraceException.InvalidState if it has ended
   */
  Workflow cancelWorkflow(String id, String reason);

  /**
   * Runs the members of a workflow whose failure nothing caught again, and what was skipped because
   * of them.
   *
   * @param id the workflow's id
   * @return the workflow
   * @throws MillraceException.InvalidState if none has failed so, or the workflow is stopping
   */
  default Workflow retryWorkflow(String id) {
    return retryWorkflow(id, WorkflowRetry.create());
  }

  /**
   * Runs members of a workflow again, as for {@link #retryWorkflow(String)}.
   *
   * @param id the workflow's id
   * @param retry which members, and how
   * @return the workflow
   * @throws MillraceException.InvalidState if they can't be retried
   * @throws MillraceException.DuplicateWorkflow if another workflow has its unique key by now
   */
  Workflow retryWorkflow(String id, WorkflowRetry retry);

  /**
   * Skips a blocked member, and what needs that it succeeds.
   *
   * @param id the workflow's id
   * @param ref the member's ref, or {@code @} and its number
   * @return the workflow
   * @throws MillraceException.InvalidState if the member is not blocked
   */
  Workflow skipMember(String id, String ref);

  /**
   * Returns a queue.
   *
   * @param name its name
   * @return the queue
   * @throws MillraceException.NotFound if no queue ever had this name
   */
  Queue queue(String name);

  /**
   * Replaces the settings of a queue, or creates it. Settings that are not set take their defaults.
   *
   * @param name its name
   * @param settings the settings
   * @return the queue
   */
  Queue putQueue(String name, QueueSettings settings);

  /**
   * Changes some settings of a queue; the others stay unchanged.
   *
   * @param name its name
   * @param settings the settings to change
   * @return the queue
   * @throws MillraceException.NotFound if there is no such queue
   */
  Queue patchQueue(String name, QueueSettings settings);

  /**
   * Returns a limit with its use.
   *
   * @param name its name
   * @return the limit
   * @throws MillraceException.NotFound if there is no such limit
   */
  Limit limit(String name);

  /**
   * Makes a limit or replaces its settings. Jobs that name it start only while it lets them.
   *
   * @param name its name
   * @param settings the settings
   * @return the limit
   */
  Limit putLimit(String name, LimitSettings settings);

  /**
   * Returns all schedules, by name.
   *
   * @return the schedules
   */
  List<Schedule> schedules();

  /**
   * Returns a schedule.
   *
   * @param name its name
   * @return the schedule
   * @throws MillraceException.NotFound if there is no such schedule
   */
  Schedule schedule(String name);

  /**
   * Creates a schedule or replaces its specification. An equal specification changes nothing.
   *
   * @param name its name
   * @param spec the specification; members that are not set take their defaults
   * @return the schedule
   * @throws MillraceException.ValidationFailed if the expression is invalid or has no instants
   */
  Schedule putSchedule(String name, ScheduleSpec spec);

  /**
   * Makes an owner's schedules match a set: creates missing schedules, changes those that differ,
   * and leaves the others unchanged.
   *
   * @param set the owner and its schedules
   * @return the changes
   */
  ScheduleChanges applySchedules(ScheduleSet set);

  /**
   * Submits one job of a schedule now.
   *
   * @param name its name
   * @return the job
   */
  Submitted triggerSchedule(String name);

  /**
   * Deletes a schedule. Its jobs remain.
   *
   * @param name its name
   * @throws MillraceException.NotFound if there is no such schedule
   */
  void deleteSchedule(String name);
}
