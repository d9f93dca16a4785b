package dev.millrace;

import java.time.Instant;
import java.util.List;

/**
 * The meaning of an expression.
 *
 * @param description the instants in plain words
 * @param next the instants, oldest first
 * @param warnings valid settings that are probably mistakes; null if there are none
 */
public record SchedulePreview(String description, List<Instant> next, List<String> warnings) {}
