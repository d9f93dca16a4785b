package dev.millrace;

/**
 * What a backfill did.
 *
 * @param submitted new jobs
 * @param existing instants that were passed over, since their job still exists
 * @param more whether instants of the range are left
 */
public record BackfillResult(int submitted, long existing, boolean more) {}
