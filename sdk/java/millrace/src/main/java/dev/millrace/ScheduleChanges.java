package dev.millrace;

import java.util.List;

/**
 * What became of the schedules of a set, by name.
 *
 * @param created those that are new
 * @param updated those that were changed
 * @param unchanged those that were right already
 * @param deleted those that the set does not name, with {@link ScheduleSet#prune}
 */
public record ScheduleChanges(
    List<String> created, List<String> updated, List<String> unchanged, List<String> deleted) {}
