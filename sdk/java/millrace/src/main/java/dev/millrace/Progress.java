// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * The progress that a handler reported.
 *
 * @param percent from 0 to 100; null if it was not told
 * @param message at most 1,024 bytes; null if it was not told
 * @param checkpoint state for the next attempt; opaque JSON
 */
public record Progress(Double percent, String message, Json checkpoint) {}
