// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.util.List;

/**
 * What a claimed job is to its workflow.
 *
 * @param generation the workflow's
 * @param state the workflow's when the job was submitted
 * @param counts for a callback, the number of members by state
 * @param failed for a callback, refs of members that failed, at most 20
 * @param id its id
 * @param name the workflow's; null if it has none
 * @param ref the member's; null if it has none
 * @param number the member's; null for a callback
 * @param role whether the job is a member's, or one that the end of the workflow submitted
 */
public record ClaimedWorkflow(
    long generation,
    WorkflowState state,
    MemberCounts counts,
    List<String> failed,
    String id,
    String name,
    String ref,
    Long number,
    String role) {}
