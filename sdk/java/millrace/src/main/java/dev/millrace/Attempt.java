// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;

/**
 * One attempt at a job.
 *
 * @param n counts every start, from 1
 * @param attempt The attempt's number, from 1. Snoozed and released attempts do not count.
 * @param worker the worker's name; null if it is not known
 * @param startedAt when a worker got the job
 * @param finishedAt when it ended; null while it runs
 * @param outcome how it ended
 * @param error why it failed; null if it did not
 */
public record Attempt(
    int n,
    int attempt,
    String worker,
    Instant startedAt,
    Instant finishedAt,
    String outcome,
    JobError error) {}
