// Made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The members of NewJob that are set one by one. */
abstract class NewJobMembers extends Members<NewJob> {
  NewJobMembers(Map<String, Object> named) {
    super(named);
  }

  /**
   * Sets {@code idempotencyKey} of the job.
   *
   * @param idempotencyKey A repetition with the key returns the first job, for 24 hours (a
   *     setting). As the header {@code Idempotency-Key} of a single job; bound to the item and the
   *     batch's {@code defaults} as they are sent. Visible ASCII. 1 to 255 characters.
   * @return a changed copy
   */
  public NewJob idempotencyKey(String idempotencyKey) {
    return with("idempotency_key", idempotencyKey);
  }

  /**
   * Sets {@code id} of the job.
   *
   * @param id A UUIDv7 that the client makes. A second submission of it to the same queue returns
   *     the stored job, as long as the server keeps that. If the job now has another type, payload
   *     (byte by byte), priority, timeout, tags, meta or unique key, it is 409 {@code id_mismatch}.
   *     If another queue's job has the id, it is 409 {@code duplicate_job}. If it is left out, the
   *     server makes one.
   * @return a changed copy
   */
  public NewJob id(String id) {
    return with("id", id);
  }

  /**
   * Sets {@code runAt} of the job.
   *
   * @param runAt The earliest start; not together with {@code delay}. Default now.
   * @return a changed copy
   */
  public NewJob runAt(Instant runAt) {
    return with("run_at", runAt);
  }

  /**
   * Sets {@code delay} of the job.
   *
   * @param delay The same as {@code runAt}, counted from the submission. At most 10 years.
   * @return a changed copy
   */
  public NewJob delay(Duration delay) {
    return with("delay_ms", delay);
  }

  /**
   * Sets {@code expiresAt} of the job.
   *
   * @param expiresAt A job that has not started by then is {@code expired}; not together with
   *     {@code expiresIn}. Default never.
   * @return a changed copy
   */
  public NewJob expiresAt(Instant expiresAt) {
    return with("expires_at", expiresAt);
  }

  /**
   * Sets {@code queue} of the job.
   *
   * @param queue The queue in which the job waits: 1 to 128 characters of {@code A-Za-z0-9._:/-}.
   *     If left out, {@code default}.
   * @return a changed copy
   */
  public NewJob queue(String queue) {
    return with("queue", queue);
  }

  /**
   * Sets {@code payload} of the job.
   *
   * @param payload Any JSON value of at most 1 MiB (a setting), kept and returned byte for byte.
   *     Default {@code null}.
   * @return a changed copy
   */
  public NewJob payload(Object payload) {
    return with("payload", payload);
  }

  /**
   * Sets {@code priority} of the job.
   *
   * @param priority Lower runs first. Default {@code 0}. -32,768 to 32,767.
   * @return a changed copy
   */
  public NewJob priority(int priority) {
    return with("priority", priority);
  }

  /**
   * Sets {@code expiresIn} of the job.
   *
   * @param expiresIn The same as {@code expiresAt}, counted from the submission. At most 10 years.
   * @return a changed copy
   */
  public NewJob expiresIn(Duration expiresIn) {
    return with("expires_in_ms", expiresIn);
  }

  /**
   * Sets {@code maxAttempts} of the job.
   *
   * @param maxAttempts The most attempts. Default the queue's. 1 to 1,000.
   * @return a changed copy
   */
  public NewJob maxAttempts(int maxAttempts) {
    return with("max_attempts", maxAttempts);
  }

  /**
   * Sets {@code retry} of the job.
   *
   * @param retry How long the job waits after a failed attempt. Default the queue's.
   * @return a changed copy
   */
  public NewJob retry(RetryPolicy retry) {
    return with("retry", retry);
  }

  /**
   * Sets {@code lease} of the job.
   *
   * @param lease The length of a lease. Default the queue's. 1,000 to 86,400,000 ms.
   * @return a changed copy
   */
  public NewJob lease(Duration lease) {
    return with("lease_ms", lease);
  }

  /**
   * Sets {@code timeout} of the job.
   *
   * @param timeout The bound on one attempt, however often it is extended. Default none. At most 10
   *     years.
   * @return a changed copy
   */
  public NewJob timeout(Duration timeout) {
    return with("timeout_ms", timeout);
  }

  /**
   * Sets {@code unique} of the job.
   *
   * @param unique allows one job for each key within the queue
   * @return a changed copy
   */
  public NewJob unique(Unique unique) {
    return with("unique", unique);
  }

  /**
   * Sets {@code tags} of the job.
   *
   * @param tags Names to find the job by. Default {@code []}. At most 32 entries.
   * @return a changed copy
   */
  public NewJob tags(String... tags) {
    return with("tags", List.of(tags));
  }

  /**
   * Sets {@code meta} of the job.
   *
   * @param meta The client's own strings, at most 8 KiB. Default {@code {}}.
   * @return a changed copy
   */
  public NewJob meta(Map<String, String> meta) {
    return with("meta", new TreeMap<>(meta));
  }

  /**
   * Sets {@code limits} of the job.
   *
   * @param limits The limits that a job must pass to start, its queue's included; each name once.
   *     {@code key} is required if the limit counts by key, and forbidden otherwise. At most 8
   *     entries.
   * @return a changed copy
   */
  public NewJob limits(JobLimit... limits) {
    return with("limits", List.of(limits));
  }

  /**
   * Sets {@code orderKey} of the job.
   *
   * @param orderKey Jobs of one key of a queue run one at a time, by due time as submitted, then by
   *     order of submission; priority does not count among them. 1 to 128 characters.
   * @return a changed copy
   */
  public NewJob orderKey(String orderKey) {
    return with("order_key", orderKey);
  }

  /**
   * Sets {@code orderOnFailure} of the job.
   *
   * @param orderOnFailure {@code hold}: while the job waits for its next attempt, its successors
   *     wait too. {@code pass}: they run. Default {@code hold}.
   * @return a changed copy
   */
  public NewJob orderOnFailure(OrderOnFailure orderOnFailure) {
    return with("order_on_failure", orderOnFailure);
  }

  /**
   * Sets {@code fairKey} of the job.
   *
   * @param fairKey The key, such as a tenant, whose share the job uses in a queue that shares
   *     fairly. 1 to 128 characters.
   * @return a changed copy
   */
  public NewJob fairKey(String fairKey) {
    return with("fair_key", fairKey);
  }
}
