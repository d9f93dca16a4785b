// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.util.List;

/**
 * The changes made by applying a set, as names of schedules.
 *
 * @param created schedules that are new
 * @param updated schedules that were changed
 * @param unchanged schedules that needed no change
 * @param deleted the owner's schedules that the set does not name, with {@code prune}
 */
public record ScheduleChanges(
    List<String> created, List<String> updated, List<String> unchanged, List<String> deleted) {}
