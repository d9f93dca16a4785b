// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A job as the server shows it. Members that have no value are null.
 *
 * @param id a UUIDv7
 * @param queue the queue's name
 * @param type the type's name
 * @param state {@code scheduled} waits for {@code runAt}, {@code retrying} for its backoff, {@code
 *     blocked} for other jobs. Terminal are {@code succeeded}, {@code dead}, {@code cancelled} and
 *     {@code expired} (not started before {@code expiresAt}).
 * @param priority Lower runs first. -32,768 to 32,767.
 * @param redacted The token may not see payloads: {@code payload} and {@code result} are left out,
 *     {@code checkpoint} and {@code stack} are null, {@code message} of an error or a log line is
 *     empty. Always {@code true}.
 * @param attempt the number of started attempts, without those that were snoozed or released
 * @param maxAttempts The most attempts. 1 to 1,000.
 * @param crashes the number of expired leases; at the queue's {@code max_crashes} the job is dead,
 *     {@code worker_lost}
 * @param generation rises with every retry by hand
 * @param version rises with every change; {@code ETag} and {@code If-Match} carry it
 * @param createdAt when it was submitted
 * @param runAt when it is, or was, due
 * @param expiresAt when it expires if it has not started; null: never
 * @param startedAt the last start
 * @param finishedAt when it ended; null until then
 * @param leaseExpiresAt null unless running
 * @param worker the worker's name (see WorkerName); null unless running
 * @param cancelRequested whether it was cancelled while it ran
 * @param progress the progress that was reported last; null if none was
 * @param lastError why the last attempt failed; null if none did
 * @param retry null if the queue's policy applies
 * @param lease null if the queue's length applies
 * @param timeout the bound on one attempt; null if there is none
 * @param unique its unique key; null if it has none
 * @param tags Names to find the job by. At most 32 entries.
 * @param meta the client's own strings, at most 8 KiB
 * @param traceparent W3C trace context of the submission. Left out if it had none.
 * @param schedule The schedule that made the job. Left out if none did.
 * @param workflow The workflow that the job belongs to. Left out if it belongs to none.
 * @param payload with {@code include=payload}
 * @param result with {@code include=result}; null until there is one
 * @param attempts with {@code include=attempts}
 * @param logs with {@code include=logs}
 * @param events with {@code include=events}
 * @param limits The limits that a job must pass to start, its queue's included; each name once.
 *     {@code key} is required if the limit counts by key, and forbidden otherwise. At most 8
 *     entries.
 * @param orderKey Jobs of one key of a queue run one at a time, by due time as submitted, then by
 *     order of submission; priority does not count among them. 1 to 128 characters.
 * @param orderOnFailure {@code hold}: while the job waits for its next attempt, its successors wait
 *     too. {@code pass}: they run. Default {@code hold}.
 * @param fairKey The key, such as a tenant, whose share the job uses in a queue that shares fairly.
 *     1 to 128 characters.
 */
public record Job(
    String id,
    String queue,
    String type,
    JobState state,
    int priority,
    boolean redacted,
    int attempt,
    int maxAttempts,
    int crashes,
    long generation,
    long version,
    Instant createdAt,
    Instant runAt,
    Instant expiresAt,
    Instant startedAt,
    Instant finishedAt,
    Instant leaseExpiresAt,
    String worker,
    boolean cancelRequested,
    Progress progress,
    JobError lastError,
    RetryPolicy retry,
    Duration lease,
    Duration timeout,
    Unique unique,
    List<String> tags,
    Map<String, String> meta,
    String traceparent,
    JobSchedule schedule,
    JobWorkflow workflow,
    Json payload,
    Json result,
    List<Attempt> attempts,
    List<LogLine> logs,
    List<JobEvent> events,
    List<JobLimit> limits,
    String orderKey,
    OrderOnFailure orderOnFailure,
    String fairKey) {

  /** Members that an answer contains only on request. */
  public enum Include {
    /** The payload that was submitted. */
    PAYLOAD,
    /** The result that its handler returned. */
    RESULT,
    /** All its attempts. */
    ATTEMPTS,
    /** The lines of its log. */
    LOGS,
    /** The entries of its history. */
    EVENTS
  }
}
