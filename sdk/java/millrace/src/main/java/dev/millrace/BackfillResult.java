// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * The result of a backfill.
 *
 * @param submitted The number of new jobs. 0 to 1,000.
 * @param existing the number of instants passed over, since their job still exists
 * @param more whether instants of the range are left
 */
public record BackfillResult(int submitted, long existing, boolean more) {}
