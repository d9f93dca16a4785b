// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;

/**
 * A change of many jobs, which the server continues by itself.
 *
 * @param id its id
 * @param kind what started it
 * @param action what it does to the jobs
 * @param query the filter in the language of searches
 * @param queue the one queue that the operation is about
 * @param errorGroup the fingerprint of an error group
 * @param state its state
 * @param matched How many jobs matched at the beginning; an estimate. Null if they could not be
 *     counted within a second. Of {@code reproject}, rows of the log, in {@code done} and {@code
 *     changed} too.
 * @param done the jobs that had their turn: the sum of {@code changed} and {@code failed}
 * @param changed the jobs that were changed so far
 * @param failed the jobs that were left alone, because they had left their state or because
 *     something forbids the action
 * @param ratePerS Jobs a second; null means no bound. 1 to 100,000.
 * @param createdAt when it began
 * @param createdBy the name of the token
 * @param updatedAt when it last changed
 * @param endedAt null until the operation has ended
 * @param estimatedEndAt at the rate, or at the pace so far; null if that is not known
 * @param reason why the operation failed
 */
public record Operation(
    String id,
    String kind,
    String action,
    String query,
    String queue,
    String errorGroup,
    String state,
    Long matched,
    long done,
    long changed,
    long failed,
    Long ratePerS,
    Instant createdAt,
    String createdBy,
    Instant updatedAt,
    Instant endedAt,
    Instant estimatedEndAt,
    String reason) {}
