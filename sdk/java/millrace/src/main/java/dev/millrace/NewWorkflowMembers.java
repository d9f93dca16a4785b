// Made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The members of NewWorkflow that are set one by one. */
abstract class NewWorkflowMembers extends Graph<NewWorkflow> {
  NewWorkflowMembers(Map<String, Object> named) {
    super(named);
  }

  /**
   * Sets {@code queue} of the workflow.
   *
   * @param queue The queue of the workflow itself, by which tokens see it and retention keeps it.
   *     Default {@code default}.
   * @return this
   */
  public NewWorkflow queue(String queue) {
    return with("queue", queue);
  }

  /**
   * Sets {@code id} of the workflow.
   *
   * @param id A UUIDv7 that the client makes, whose third group has the first 12 bits of SHA-256 of
   *     the queue's name. If it is left out, the server makes one.
   * @return this
   */
  public NewWorkflow id(String id) {
    return with("id", id);
  }

  /**
   * Sets {@code name} of the workflow.
   *
   * @param name what it is, for people
   * @return this
   */
  public NewWorkflow name(String name) {
    return with("name", name);
  }

  /**
   * Sets {@code tags} of the workflow.
   *
   * @param tags Names to find the workflow by. Default {@code []}. At most 32 entries.
   * @return this
   */
  public NewWorkflow tags(String... tags) {
    return with("tags", List.of(tags));
  }

  /**
   * Sets {@code meta} of the workflow.
   *
   * @param meta The client's own strings, at most 8 KiB. Default {@code {}}.
   * @return this
   */
  public NewWorkflow meta(Map<String, String> meta) {
    return with("meta", new TreeMap<>(meta));
  }

  /**
   * Sets {@code onMemberFailed} of the workflow.
   *
   * @param onMemberFailed What a member's failure does. Default {@code continue}.
   * @return this
   */
  public NewWorkflow onMemberFailed(OnMemberFailed onMemberFailed) {
    return with("on_member_failed", onMemberFailed);
  }

  /**
   * Sets {@code onSuccess} of the workflow.
   *
   * @param onSuccess a job to submit when the workflow has succeeded
   * @return this
   */
  public NewWorkflow onSuccess(NewJob onSuccess) {
    return with("on_success", onSuccess);
  }

  /**
   * Sets {@code onFailure} of the workflow.
   *
   * @param onFailure a job to submit when it has failed or was cancelled
   * @return this
   */
  public NewWorkflow onFailure(NewJob onFailure) {
    return with("on_failure", onFailure);
  }

  /**
   * Sets {@code onEnd} of the workflow.
   *
   * @param onEnd a job to submit when it has ended
   * @return this
   */
  public NewWorkflow onEnd(NewJob onEnd) {
    return with("on_end", onEnd);
  }

  /**
   * Sets {@code maxActive} of the workflow.
   *
   * @param maxActive The most members that are active at once. Default no bound. 1 to 1,000,000.
   * @return this
   */
  public NewWorkflow maxActive(long maxActive) {
    return with("max_active", maxActive);
  }

  /**
   * Sets {@code timeout} of the workflow.
   *
   * @param timeout After this time of a generation it stops as if cancelled, and has failed.
   *     Default none. At most 10 years.
   * @return this
   */
  public NewWorkflow timeout(Duration timeout) {
    return with("timeout_ms", timeout);
  }

  /**
   * Sets {@code resultFrom} of the workflow.
   *
   * @param resultFrom the ref of a member, whose result is the workflow's
   * @return this
   */
  public NewWorkflow resultFrom(String resultFrom) {
    return with("result_from", resultFrom);
  }

  /**
   * Sets {@code keepMembers} of the workflow.
   *
   * @param keepMembers Keep the members' jobs until the workflow goes, whatever their queues'
   *     retention is. Default {@code true}.
   * @return this
   */
  public NewWorkflow keepMembers(boolean keepMembers) {
    return with("keep_members", keepMembers);
  }
}
