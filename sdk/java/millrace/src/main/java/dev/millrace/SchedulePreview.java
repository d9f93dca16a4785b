package dev.millrace;

import java.time.Instant;
import java.util.List;

/**
 * What an expression means.
 *
 * @param description when it is due, in plain words
 * @param next the instants, oldest first
 * @param warnings what is allowed, but probably not meant; null if there is nothing
 */
public record SchedulePreview(String description, List<Instant> next, List<String> warnings) {}
