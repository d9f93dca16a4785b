package dev.millrace;

import java.time.Instant;

/**
 * A line of a job's log.
 *
 * @param seq rises along the job's lines
 * @param attempt the number of the attempt that wrote it
 * @param at when it was written
 * @param level its level
 * @param message at most 8 KiB
 */
public record LogLine(long seq, int attempt, Instant at, LogLevel level, String message) {}
