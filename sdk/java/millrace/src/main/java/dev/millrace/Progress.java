package dev.millrace;

/**
 * How far a handler has come.
 *
 * @param percent from 0 to 100; null if it was not given
 * @param message at most 1,024 bytes; null if it was not given
 * @param checkpoint what the next attempt finds again; null or {@link Json#NULL} if there is none
 */
public record Progress(Double percent, String message, Json checkpoint) {}
