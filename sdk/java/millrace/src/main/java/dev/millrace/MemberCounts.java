// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * The numbers of a workflow's members by state.
 *
 * @param blocked members that wait for what they need
 * @param active members with a job that has not ended
 * @param succeeded members that succeeded
 * @param failed members that failed
 * @param skipped members that never ran
 */
public record MemberCounts(long blocked, long active, long succeeded, long failed, long skipped) {}
