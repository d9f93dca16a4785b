// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * The workflow that a job belongs to.
 *
 * @param id its id
 * @param name the workflow's; null if it has none
 * @param ref the member's; null if it has none
 * @param number the member's; null for a callback
 * @param role whether the job is a member's, or one that the end of the workflow submitted
 */
public record JobWorkflow(String id, String name, String ref, Long number, String role) {}
