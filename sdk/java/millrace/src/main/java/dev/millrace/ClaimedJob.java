package dev.millrace;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A job that a worker has claimed.
 *
 * @param id a UUIDv7, the same for every attempt; use it as idempotency key for other services
 * @param queue the queue in which it waited
 * @param type the job's type
 * @param payload the payload that was submitted
 * @param attempt the number of this attempt, from 1
 * @param maxAttempts the maximum number of attempts
 * @param priority lower numbers run first
 * @param createdAt when it was submitted
 * @param tags words to search for
 * @param meta the application's own strings
 * @param traceparent the submission's W3C trace context; may be null
 * @param tracestate the submission's W3C trace state; may be null
 * @param schedule the schedule that created it; null if none did
 * @param workflow the workflow that it belongs to; null if it belongs to none
 * @param parents what its member needs, by ref, with the results; empty if it needs nothing
 * @param checkpoint the checkpoint of an earlier attempt; null if there is none
 */
public record ClaimedJob(
    String id,
    String queue,
    String type,
    Json payload,
    int attempt,
    int maxAttempts,
    int priority,
    Instant createdAt,
    List<String> tags,
    Map<String, String> meta,
    String traceparent,
    String tracestate,
    JobSchedule schedule,
    ClaimedWorkflow workflow,
    Map<String, Parent> parents,
    Json checkpoint) {}
