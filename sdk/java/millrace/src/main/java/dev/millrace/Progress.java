package dev.millrace;

/**
 * The progress that a handler reported.
 *
 * @param percent from 0 to 100; null if it was not given
 * @param message at most 1,024 bytes; null if it was not given
 * @param checkpoint the checkpoint for the next attempt; null or {@link Json#NULL} if there is none
 */
public record Progress(Double percent, String message, Json checkpoint) {}
