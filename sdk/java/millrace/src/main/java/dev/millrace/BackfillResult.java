package dev.millrace;

/**
 * The result of a backfill.
 *
 * @param submitted new jobs
 * @param existing instants that were skipped because their job still exists
 * @param more whether instants of the range are left
 */
public record BackfillResult(int submitted, long existing, boolean more) {}
