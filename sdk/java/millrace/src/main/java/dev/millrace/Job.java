package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A job as the server shows it. Members that have no value are null.
 *
 * @param id a UUIDv7
 * @param queue the queue in which it waits
 * @param type the job's type; handlers attach to types
 * @param state its current state
 * @param priority lower numbers run first
 * @param attempt the number of attempts started, except those that ended snoozed or released
 * @param maxAttempts the maximum number of attempts
 * @param crashes the number of leases that expired
 * @param generation rises with every retry by hand
 * @param version rises with every change
 * @param createdAt when it was submitted
 * @param runAt when it is or was due
 * @param expiresAt a job that has not started by then is {@code EXPIRED}
 * @param startedAt the last start
 * @param finishedAt when it ended
 * @param leaseExpiresAt null unless it is running
 * @param worker the name of the worker that has it
 * @param cancelRequested whether it was cancelled while it ran
 * @param progress the last progress that its handler reported
 * @param lastError why the last attempt failed
 * @param retry null if the queue's policy applies
 * @param lease null if the queue's length applies
 * @param timeout the bound on one attempt
 * @param unique its unique key
 * @param tags words to search for
 * @param meta the application's own strings
 * @param traceparent the submission's W3C trace context
 * @param schedule the schedule that created it
 * @param payload with {@link Include#PAYLOAD}
 * @param result with {@link Include#RESULT}; {@link Json#NULL} until there is one
 * @param attempts with {@link Include#ATTEMPTS}
 * @param logs with {@link Include#LOGS}
 */
public record Job(
    String id,
    String queue,
    String type,
    JobState state,
    int priority,
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
    Json payload,
    Json result,
    List<Attempt> attempts,
    List<LogLine> logs) {

  /** Members that an answer contains only on request. */
  public enum Include {
    /** The payload that was submitted. */
    PAYLOAD,
    /** The result that its handler returned. */
    RESULT,
    /** All its attempts. */
    ATTEMPTS,
    /** The lines of its log. */
    LOGS
  }
}
