package dev.millrace;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A job in the hands of a worker.
 *
 * @param id a UUIDv7, the same for every attempt: an idempotency key towards other services
 * @param queue where it waited
 * @param type what it is
 * @param payload what it was submitted with
 * @param attempt the number of this attempt, from 1
 * @param maxAttempts attempts that it may have
 * @param priority lower numbers run first
 * @param createdAt when it was submitted
 * @param runAt when it was due
 * @param tags words to find it by
 * @param meta the application's own strings
 * @param traceparent W3C trace context of its submission; may be null
 * @param tracestate the same; may be null
 * @param schedule the schedule that made it; null if it was none
 * @param checkpoint what an earlier attempt wanted to find again; null if there is nothing
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
    Instant runAt,
    List<String> tags,
    Map<String, String> meta,
    String traceparent,
    String tracestate,
    JobSchedule schedule,
    Json checkpoint) {}
