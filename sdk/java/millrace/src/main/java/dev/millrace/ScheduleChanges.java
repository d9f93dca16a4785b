package dev.millrace;

import java.util.List;

/**
 * The changes made by applying a set, as names of schedules.
 *
 * @param created schedules that are new
 * @param updated schedules that were changed
 * @param unchanged schedules that needed no change
 * @param deleted schedules that the set does not name, with {@link ScheduleSet#prune}
 */
public record ScheduleChanges(
    List<String> created, List<String> updated, List<String> unchanged, List<String> deleted) {}
