package dev.millrace;

import java.time.Instant;

/**
 * Why an attempt failed.
 *
 * @param type the class of the error, or a word of the server's: {@code lease_expired}, {@code
 *     timeout}, {@code worker_lost}
 * @param message what it said, at most 4 KiB
 * @param stack where it was thrown, at most 32 KiB; may be null
 * @param fingerprint the same for errors that look alike; may be null
 * @param attempt the number of the attempt
 * @param at when
 */
public record JobError(
    String type, String message, String stack, String fingerprint, int attempt, Instant at) {}
