// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;
import java.util.List;

/**
 * The meaning of an expression.
 *
 * @param description the schedule in words
 * @param next The instants, oldest first. At most 1,000 entries.
 * @param warnings As for a schedule; also the effect of clock changes within a year on times of
 *     day. Left out if there are none.
 */
public record SchedulePreview(String description, List<Instant> next, List<String> warnings) {}
