// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.util.List;

/**
 * A member of a workflow, with what it needs.
 *
 * @param number its place in the workflow, from 0
 * @param ref null if it has none
 * @param kind what the member is
 * @param state {@code blocked} waits for what it needs; {@code active} has a job that has not
 *     ended. {@code skipped}: a need can't be met any more, the workflow stopped, or a call skipped
 *     it.
 * @param needs what it waits for
 */
public record GraphLine(
    long number, String ref, String kind, MemberState state, List<Need> needs) {}
