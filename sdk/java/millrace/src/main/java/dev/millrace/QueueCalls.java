package dev.millrace;

import dev.millrace.Transport.Replay;
import dev.millrace.Transport.Request;
import java.util.List;
import java.util.Map;

/** The client's calls on queues and limits. */
abstract class QueueCalls extends Calls {
  QueueCalls(Transport transport, ApiCodec codec) {
    super(transport, codec);
  }

  /**
   * Returns all queues, by name.
   *
   * @return the queues
   */
  public List<Queue> queues() {
    return all("/v1/queues", Map.of(), Queue.class);
  }

  /**
   * Returns a queue.
   *
   * @param name its name
   * @return the queue
   * @throws MillraceException.NotFound if no queue ever had this name
   */
  public Queue queue(String name) {
    return get(Target.path("/v1/queues/", name), Queue.class);
  }

  /**
   * Replaces the settings of a queue, or creates it. Settings that are not set take their defaults.
   *
   * @param name its name
   * @param settings the settings
   * @return the queue
   */
  public Queue putQueue(String name, QueueSettings settings) {
    return putQueue(name, settings, null);
  }

  /**
   * Replaces the settings of a queue if it still has the expected version.
   *
   * @param name its name
   * @param settings the settings
   * @param version the version expected; null for any
   * @return the queue
   * @throws MillraceException.VersionConflict if it has another version
   */
  public Queue putQueue(String name, QueueSettings settings, Long version) {
    return change("PUT", name, settings, version, Replay.ALWAYS);
  }

  /**
   * Changes some settings of a queue; the others stay unchanged.
   *
   * @param name its name
   * @param settings the settings to change
   * @return the queue
   * @throws MillraceException.NotFound if there is no such queue
   */
  public Queue patchQueue(String name, QueueSettings settings) {
    return patchQueue(name, settings, null);
  }

  /**
   * Changes some settings of a queue if it still has the expected version.
   *
   * @param name its name
   * @param settings the settings to change
   * @param version the version expected; null for any
   * @return the queue
   * @throws MillraceException.VersionConflict if it has another version
   */
  public Queue patchQueue(String name, QueueSettings settings, Long version) {
    return change("PATCH", name, settings, version, Replay.IF_NOT_BEGUN);
  }

  private Queue change(
      String method, String name, QueueSettings settings, Long version, Replay replay) {
    String target = Target.path("/v1/queues/", name);
    Request request = new Request(method, target, codec.write(settings), ifMatch(version), replay);
    return read(transport.call(request), Queue.class);
  }

  /**
   * Stops handing out the jobs of a queue. Submissions are still accepted.
   *
   * @param name its name
   * @param reason a note for people, at most 1,024 bytes; may be null
   * @return the queue
   */
  public Queue pauseQueue(String name, String reason) {
    return post(Target.path("/v1/queues/", name, "/pause"), reasonBody(reason), Queue.class);
  }

  /**
   * Resumes handing out the jobs of a queue.
   *
   * @param name its name
   * @return the queue
   */
  public Queue resumeQueue(String name) {
    return post(Target.path("/v1/queues/", name, "/resume"), null, Queue.class);
  }

  /**
   * Deletes a queue that has no jobs.
   *
   * @param name its name
   * @throws MillraceException.InvalidState if it has jobs, including ended ones that are kept
   */
  public void deleteQueue(String name) {
    deleteQueue(name, false);
  }

  /**
   * Deletes a queue.
   *
   * @param name its name
   * @param force deletes its jobs too, unless some are running
   * @throws MillraceException.InvalidState if its jobs prevent it
   */
  public void deleteQueue(String name, boolean force) {
    Map<String, Boolean> parameters = force ? Map.of("force", true) : Map.of();
    remove(Target.query(Target.path("/v1/queues/", name), parameters));
  }

  /**
   * Returns all limits, by name.
   *
   * @return the limits
   */
  public List<Limit> limits() {
    return all("/v1/limits", Map.of(), Limit.class);
  }

  /**
   * Returns a limit with its use.
   *
   * @param name its name
   * @return the limit
   * @throws MillraceException.NotFound if there is no such limit
   */
  public Limit limit(String name) {
    return get(Target.path("/v1/limits/", name), Limit.class);
  }

  /**
   * Makes a limit or replaces its settings. Jobs that name it start only while it lets them.
   *
   * @param name its name
   * @param settings the settings
   * @return the limit
   */
  public Limit putLimit(String name, LimitSettings settings) {
    return putLimit(name, settings, null);
  }

  /**
   * Replaces the settings of a limit if it still has the expected version.
   *
   * @param name its name
   * @param settings the settings
   * @param version the version expected; null for any
   * @return the limit
   * @throws MillraceException.VersionConflict if it has another version
   */
  public Limit putLimit(String name, LimitSettings settings, Long version) {
    return change("PUT", name, settings, version, Replay.ALWAYS);
  }

  /**
   * Changes some settings of a limit; the others stay unchanged.
   *
   * @param name its name
   * @param settings the settings to change; a null takes a bound away
   * @return the limit
   * @throws MillraceException.NotFound if there is no such limit
   */
  public Limit patchLimit(String name, LimitSettings settings) {
    return patchLimit(name, settings, null);
  }

  /**
   * Changes some settings of a limit if it still has the expected version.
   *
   * @param name its name
   * @param settings the settings to change
   * @param version the version expected; null for any
   * @return the limit
   * @throws MillraceException.VersionConflict if it has another version
   */
  public Limit patchLimit(String name, LimitSettings settings, Long version) {
    return change("PATCH", name, settings, version, Replay.IF_NOT_BEGUN);
  }

  private Limit change(
      String method, String name, LimitSettings settings, Long version, Replay replay) {
    String target = Target.path("/v1/limits/", name);
    Request request = new Request(method, target, codec.write(settings), ifMatch(version), replay);
    return read(transport.call(request), Limit.class);
  }

  /**
   * Starts no more jobs that name the limit.
   *
   * @param name its name
   * @param reason a note for people, at most 1,024 bytes; may be null
   * @return the limit
   */
  public Limit pauseLimit(String name, String reason) {
    return post(Target.path("/v1/limits/", name, "/pause"), reasonBody(reason), Limit.class);
  }

  /**
   * Starts them again.
   *
   * @param name its name
   * @return the limit
   */
  public Limit resumeLimit(String name) {
    return post(Target.path("/v1/limits/", name, "/resume"), "{}", Limit.class);
  }

  /**
   * Deletes a limit that no job, queue or schedule names.
   *
   * @param name its name
   * @throws MillraceException.InvalidState if something names it
   */
  public void deleteLimit(String name) {
    deleteLimit(name, false);
  }

  /**
   * Deletes a limit.
   *
   * @param name its name
   * @param force even if jobs name it, which then no longer wait for it
   */
  public void deleteLimit(String name, boolean force) {
    Map<String, Boolean> parameters = force ? Map.of("force", true) : Map.of();
    remove(Target.query(Target.path("/v1/limits/", name), parameters));
  }
}
