// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;

/**
 * An entry of a job's history.
 *
 * @param id a position, opaque
 * @param at when it happened
 * @param type what happened
 * @param queue the queue's name, if it is about one
 * @param jobId the job's id, if it is about one
 * @param jobType the job's type
 * @param attempt the attempt's number
 * @param worker the worker's name
 * @param data what else is known, by the type of the event
 */
public record JobEvent(
    String id,
    Instant at,
    String type,
    String queue,
    String jobId,
    String jobType,
    Integer attempt,
    String worker,
    Json data) {}
