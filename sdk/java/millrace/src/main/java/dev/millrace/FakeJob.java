package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** A job of a {@link Fake}, guarded by the fake's lock. */
final class FakeJob {
  static final int MAX_ATTEMPTS = 5; // of a queue without settings
  static final RetryPolicy USUAL =
      RetryPolicy.exponential(Duration.ofSeconds(5), Duration.ofMinutes(5));
  static final Duration LEASE = Duration.ofSeconds(30);
  private static final Set<JobState> WAITING =
      EnumSet.of(JobState.SCHEDULED, JobState.READY, JobState.RETRYING);

  final NewJob spec;
  final String id;
  final Json payload;
  final long sequence; // in the order of submission
  final Instant createdAt;
  final Instant expiresAt;

  JobState state;
  Instant runAt;
  Instant startedAt;
  Instant finishedAt;
  int attempt;
  long generation = 1;
  long version = 1;
  boolean cancelRequested;
  Progress progress;
  JobError lastError;
  Json result;
  final List<LogLine> logs = new ArrayList<>();
  Execution execution; // while it runs
  JobSchedule schedule; // that triggered it; null if none did
  JobWorkflow workflow; // that it belongs to; null if it belongs to none

  FakeJob(NewJob spec, Json payload, long sequence, Instant now) {
    this.spec = spec;
    this.id = spec.get("id") == null ? Ids.make(spec.queue()) : spec.get("id");
    this.payload = payload;
    this.sequence = sequence;
    createdAt = now;
    Instant at = later(now, "run_at", "delay_ms");
    runAt = at == null || at.isBefore(now) ? now : at;
    expiresAt = later(now, "expires_at", "expires_in_ms");
    state = runAt.isAfter(now) ? JobState.SCHEDULED : JobState.READY;
  }

  private Instant later(Instant now, String instant, String delay) {
    Duration after = spec.get(delay);
    return after == null ? spec.get(instant) : now.plusMillis(after.toMillis());
  }

  boolean isMember() {
    return workflow != null && workflow.number() != null;
  }

  boolean isWaiting() {
    return WAITING.contains(state);
  }

  boolean isDue(Instant now) {
    return isWaiting() && !runAt.isAfter(now);
  }

  int priority() {
    Integer priority = spec.get("priority");
    return priority == null ? 0 : priority;
  }

  int maxAttempts() {
    Integer attempts = spec.get("max_attempts");
    return attempts == null ? MAX_ATTEMPTS : attempts;
  }

  /** Says whether it holds the unique key. */
  boolean holdsUnique(String queue, Unique unique, Instant now) {
    Unique own = spec.get("unique");
    if (own == null || !own.key().equals(unique.key()) || !spec.queue().equals(queue)) return false;
    return !state.isFinal() || (own.held() != null && now.isBefore(createdAt.plus(own.held())));
  }

  /** Says whether a submission with its id has the same content. */
  boolean isSame(NewJob other, Json otherPayload) {
    Unique own = spec.get("unique");
    Unique unique = other.get("unique");
    return spec.type().equals(other.type())
        && payload.equals(otherPayload)
        && same(other, "priority", 0)
        && same(other, "timeout_ms", null)
        && same(other, "tags", List.of())
        && same(other, "meta", Map.of())
        && Objects.equals(own == null ? null : own.key(), unique == null ? null : unique.key());
  }

  private boolean same(NewJob other, String member, Object otherwise) {
    Object mine = spec.get(member);
    Object theirs = other.get(member);
    return Objects.equals(mine == null ? otherwise : mine, theirs == null ? otherwise : theirs);
  }

  void move(JobState next, Instant now) {
    state = next;
    version++;
    if (next.isFinal()) finishedAt = now;
  }

  void retry(Instant now) {
    move(JobState.READY, now);
    generation++;
    attempt = 0;
    runAt = now;
    finishedAt = null;
    cancelRequested = false;
  }

  ClaimedJob claim(ClaimedWorkflow seen, Map<String, Parent> parents, Instant now) {
    move(JobState.RUNNING, now);
    attempt++;
    startedAt = now;
    Json checkpoint = progress == null ? null : progress.checkpoint();
    return new ClaimedJob(
        id,
        spec.queue(),
        spec.type(),
        payload,
        attempt,
        maxAttempts(),
        priority(),
        createdAt,
        tags(),
        meta(),
        spec.get("traceparent"),
        spec.get("tracestate"),
        schedule,
        seen,
        parents,
        checkpoint);
  }

  void take(Execution.Report report) {
    if (report == null) return;
    Json older = progress == null ? null : progress.checkpoint();
    Json checkpoint = report.checkpoint() == null ? older : report.checkpoint();
    progress = new Progress(report.percent(), report.message(), checkpoint);
  }

  void succeed(Json value, Instant now) {
    result = value;
    move(JobState.SUCCEEDED, now);
  }

  void fail(Outcome.Failed failed, Instant now) {
    Outcome.Failure error = failed.error();
    lastError =
        new JobError(error.type(), error.message(), error.stack(), null, attempt, now, false);
    if (cancelRequested) {
      move(JobState.CANCELLED, now);
    } else if (!failed.retryable() || attempt >= maxAttempts()) {
      move(JobState.DEAD, now);
    } else {
      putOff(JobState.RETRYING, failed.delay() == null ? backoff() : failed.delay(), now);
    }
  }

  void putOff(JobState waiting, Duration delay, Instant now) {
    runAt = now.plusMillis(delay.toMillis());
    move(runAt.isAfter(now) ? waiting : JobState.READY, now);
  }

  private Duration backoff() {
    RetryPolicy policy = retry();
    Duration delay =
        switch (policy.strategy()) {
          case EXPONENTIAL -> policy.base().multipliedBy(1L << Math.min(attempt - 1, 30));
          case LINEAR -> policy.base().multipliedBy(attempt);
          case FIXED -> policy.base();
          case LIST -> policy.delays().get(Math.min(attempt, policy.delays().size()) - 1);
        };
    Duration max = policy.max();
    return max != null && delay.compareTo(max) > 0 ? max : delay;
  }

  private RetryPolicy retry() {
    RetryPolicy own = spec.get("retry");
    if (own == null) return USUAL;
    if (own.strategy() == RetryPolicy.Strategy.LIST) return own;
    return new RetryPolicy(
        own.strategy(),
        own.base() == null ? USUAL.base() : own.base(),
        own.max() == null ? USUAL.max() : own.max(),
        own.jitter() == null ? USUAL.jitter() : own.jitter(),
        null);
  }

  private List<String> tags() {
    return spec.get("tags") == null ? List.of() : spec.get("tags");
  }

  private Map<String, String> meta() {
    return spec.get("meta") == null ? Map.of() : spec.get("meta");
  }

  /** Returns the job as the server would show it. */
  Job show(Set<Job.Include> include) {
    Json shown = result == null ? Json.NULL : result;
    return new Job(
        id,
        spec.queue(),
        spec.type(),
        state,
        priority(),
        false,
        attempt,
        maxAttempts(),
        0,
        generation,
        version,
        createdAt,
        runAt,
        expiresAt,
        startedAt,
        finishedAt,
        null,
        null,
        cancelRequested,
        progress,
        lastError,
        retry(),
        spec.get("lease_ms") == null ? LEASE : spec.get("lease_ms"),
        spec.get("timeout_ms"),
        spec.get("unique"),
        tags(),
        meta(),
        spec.get("traceparent"),
        schedule,
        workflow,
        include.contains(Job.Include.PAYLOAD) ? payload : null,
        include.contains(Job.Include.RESULT) ? shown : null,
        null,
        include.contains(Job.Include.LOGS) ? List.copyOf(logs) : null,
        null,
        spec.get("limits"),
        spec.get("order_key"),
        spec.get("order_on_failure"),
        spec.get("fair_key"));
  }
}
