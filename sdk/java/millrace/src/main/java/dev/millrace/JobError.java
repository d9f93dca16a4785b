package dev.millrace;

import java.time.Instant;

/**
 * The reason why an attempt failed.
 *
 * @param type the class of the error, or a type set by the server: {@code lease_expired}, {@code
 *     timeout}, {@code worker_lost}
 * @param message the error's message, at most 4 KiB
 * @param stack the stack trace, at most 32 KiB; may be null
 * @param fingerprint the same for errors that look alike; may be null
 * @param attempt the number of the attempt
 * @param at when it failed
 */
public record JobError(
    String type, String message, String stack, String fingerprint, int attempt, Instant at) {}
