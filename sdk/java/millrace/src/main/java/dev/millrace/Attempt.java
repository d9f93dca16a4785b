package dev.millrace;

import java.time.Instant;

/**
 * One attempt at a job.
 *
 * @param n counts every start, from 1
 * @param attempt the number of the attempt, from 1
 * @param worker the worker's name; may be null
 * @param startedAt when it began
 * @param finishedAt when it ended; null while it runs
 * @param outcome a word such as {@code succeeded}, {@code failed} or {@code lease_expired}
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
