package dev.millrace;

import java.time.Duration;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeSet;

/** The job that a handler works on, and the operations of the handler. Thread-safe. */
public interface JobContext {
  /**
   * Returns the context of the job that this thread works on.
   *
   * @return the context; null in a thread that runs no handler
   */
  static JobContext current() {
    return Execution.current();
  }

  /**
   * Returns the job.
   *
   * @return the job, as it was claimed
   */
  ClaimedJob job();

  /**
   * Returns what the job is to its workflow: a member, or a callback of its end.
   *
   * @return the workflow; null if the job belongs to none
   */
  default ClaimedWorkflow workflow() {
    return job().workflow();
  }

  /**
   * Returns what the job's member needs, as it ended.
   *
   * @return the parents, by ref; empty if it needs nothing
   */
  default Map<String, Parent> parents() {
    return job().parents();
  }

  /**
   * Returns a parent of the job's member.
   *
   * @param ref its ref
   * @return the parent, with its result
   * @throws NoSuchElementException if the member does not need it
   */
  default Parent parent(String ref) {
    Parent parent = parents().get(ref);
    if (parent != null) return parent;
    String all = String.join(", ", new TreeSet<>(parents().keySet()));
    throw new NoSuchElementException(
        "the job needs no " + ref + "; it needs " + (all.isEmpty() ? "nothing" : all));
  }

  /**
   * Returns the result of a parent.
   *
   * @param <T> the result
   * @param ref the parent's ref
   * @param type the result's class
   * @return the result; null if it has none
   * @throws NoSuchElementException if the member does not need it
   * @throws IllegalStateException if the parent did not succeed, or its result is left out
   * @throws CodecException if the result does not fit the class
   */
  default <T> T parent(String ref, Class<T> type) {
    return parent(ref).resultAs(ref, type);
  }

  /**
   * Returns the result of a parent whose job is of this type.
   *
   * @param <R> the result
   * @param ref the parent's ref
   * @param type the type of its job
   * @return the result; null if it has none
   * @throws NoSuchElementException if the member does not need it
   * @throws IllegalStateException if the parent did not succeed, or its result is left out
   * @throws CodecException if the result is not of this type
   */
  default <R> R parent(String ref, JobType<?, R> type) {
    return parent(ref).resultAs(ref, type.resultType());
  }

  /**
   * Returns the lease's fencing token. A later lease of the job has a higher token, so another
   * system can refuse a late worker.
   *
   * @return the token
   */
  long token();

  /**
   * Reports progress, which reaches the server within a second.
   *
   * @param percent from 0 to 100; moved to the nearer of these bounds, and left out if it is NaN
   */
  default void progress(double percent) {
    progress(percent, null, null);
  }

  /**
   * Reports progress with a message.
   *
   * @param percent from 0 to 100
   * @param message at most 1,024 bytes; the rest is cut off
   */
  default void progress(double percent, String message) {
    progress(percent, message, null);
  }

  /**
   * Reports progress, and saves a checkpoint for the next attempt.
   *
   * @param percent from 0 to 100; may be null
   * @param message at most 1,024 bytes; may be null
   * @param checkpoint any value that the client's codec supports, at most 64 KiB together with the
   *     rest; null leaves the last one unchanged
   * @throws CodecException if the checkpoint can't be written as JSON
   */
  void progress(Double percent, String message, Object checkpoint);

  /**
   * Adds a line to the job's log. Lines that this thread writes to {@code java.util.logging} or to
   * a {@code System.Logger} are added automatically.
   *
   * @param level the line's level
   * @param message at most 8 KiB; if more than 256 KiB wait to be sent, the oldest lines are
   *     dropped
   */
  void log(LogLevel level, String message);

  /**
   * Submits a job in the same commit as this attempt's success: the server stores both or neither.
   * If the attempt does not succeed, nothing is submitted.
   *
   * @param job the job, without an idempotency key
   * @return its id
   * @throws CodecException if its payload can't be written as JSON
   */
  String enqueue(NewJob job);

  /**
   * Adds a member to the job's workflow, in the same commit as this attempt's success. It may need
   * any other member, also one that was added before.
   *
   * <pre>{@code
   * for (String url : links) ctx.add(url, FETCH.job(url));
   * ctx.add("index", INDEX.job(site)).needs(links);
   * }</pre>
   *
   * @param ref its ref; one that the workflow has already is left alone
   * @param job its job, without an id, a key and an expiry at a fixed time
   * @return the member, which can need others
   * @throws IllegalStateException if the job is no member of a workflow
   * @throws IllegalArgumentException if this attempt has added the ref before, or the job is none
   *     of a member
   * @throws CodecException if its payload can't be written as JSON
   */
  NewMember add(String ref, NewJob job);

  /**
   * Skips a member of the job's workflow that needs this job, and what needs that it succeeds, in
   * the same commit as this attempt's success.
   *
   * @param ref the ref of a blocked member
   * @throws IllegalStateException if the job is no member of a workflow
   */
  void skip(String ref);

  /**
   * Asks a limit of the job to let nothing pass for a time, because an upstream asks for fewer
   * requests. It is sent with the outcome, of any kind; with a snooze, this job is tried again
   * later without costing an attempt. The last call for a limit counts.
   *
   * @param limit the limit's name
   * @param key the job's key of the limit; null for the whole limit
   * @param time 100 ms to an hour
   */
  void slowDown(String limit, String key, Duration time);

  /**
   * Asks a whole limit of the job to let nothing pass for a time.
   *
   * @param limit the limit's name
   * @param time 100 ms to an hour
   */
  default void slowDown(String limit, Duration time) {
    slowDown(limit, null, time);
  }

  /**
   * Returns why the handler was told to end.
   *
   * @return the reason; null if it was not told
   */
  StopReason stopReason();

  /**
   * Returns the token that tells the handler to end without interrupting its thread.
   *
   * @return the token
   */
  StopToken stopToken();

  /**
   * Says whether the worker is stopping. The handler may go on for the grace time, or save a
   * checkpoint and end.
   *
   * @return true once the stop has begun
   */
  boolean isStopping();
}
