// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * The unique key of a workflow.
 *
 * @param key no other workflow of the queue has it until this one ends
 */
public record WorkflowUnique(String key) {}
