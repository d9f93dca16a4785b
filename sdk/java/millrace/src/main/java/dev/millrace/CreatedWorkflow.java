package dev.millrace;

/**
 * The answer to the creation of a workflow.
 *
 * @param workflow the workflow as stored
 * @param isNew false if the id, the idempotency key or the unique key names one that exists
 */
public record CreatedWorkflow(Workflow workflow, boolean isNew) {
  /**
   * Returns the workflow's id.
   *
   * @return a UUIDv7
   */
  public String id() {
    return workflow.id();
  }
}
