// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;

/**
 * A line of a job's log.
 *
 * @param seq rises along the job's lines
 * @param attempt the attempt that wrote the line, from 1
 * @param at when it was written, by the worker's clock
 * @param level its level; {@code info} if the worker gave none
 * @param message at most 8 KiB
 * @param redacted The token may not see payloads: {@code payload} and {@code result} are left out,
 *     {@code checkpoint} and {@code stack} are null, {@code message} of an error or a log line is
 *     empty. Always {@code true}.
 */
public record LogLine(
    long seq, int attempt, Instant at, LogLevel level, String message, boolean redacted) {}
