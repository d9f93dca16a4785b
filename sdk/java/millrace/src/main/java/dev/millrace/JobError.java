// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;

/**
 * The reason why an attempt failed.
 *
 * @param type the type that the worker reported, or one of the server's: {@code lease_expired},
 *     {@code timeout} or {@code worker_lost}
 * @param message at most 4 KiB
 * @param stack at most 32 KiB; null if there is none
 * @param fingerprint equal for errors of the same group
 * @param attempt the attempt that failed, from 1
 * @param at when it failed
 * @param redacted The token may not see payloads: {@code payload} and {@code result} are left out,
 *     {@code checkpoint} and {@code stack} are null, {@code message} of an error or a log line is
 *     empty. Always {@code true}.
 */
public record JobError(
    String type,
    String message,
    String stack,
    String fingerprint,
    int attempt,
    Instant at,
    boolean redacted) {}
