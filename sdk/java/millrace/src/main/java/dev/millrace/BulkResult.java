package dev.millrace;

import java.util.List;

/**
 * The result of a change of many jobs.
 *
 * @param matched the jobs that were selected
 * @param changed the jobs that were changed
 * @param failed the jobs that were left alone, because their state no longer allowed the change
 * @param more only for a dry run: some jobs were not counted
 * @param results the answer for each id, if the request had ids
 * @param operation the operation that goes on; null if the call has done all
 */
public record BulkResult(
    long matched,
    long changed,
    long failed,
    boolean more,
    List<BatchItem> results,
    Operation operation) {

  static BulkResult of(Operation begun) {
    long matched = begun.matched() == null ? 0 : begun.matched();
    return new BulkResult(matched, begun.changed(), begun.failed(), false, List.of(), begun);
  }
}
