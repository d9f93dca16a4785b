package dev.millrace.conformance;

import dev.millrace.Backfill;
import dev.millrace.BatchItem;
import dev.millrace.Job;
import dev.millrace.JobFilter;
import dev.millrace.JobLimit;
import dev.millrace.JobState;
import dev.millrace.Json;
import dev.millrace.MillraceException;
import dev.millrace.NewJob;
import dev.millrace.PreviewRequest;
import dev.millrace.QueueLimit;
import dev.millrace.QueueSettings;
import dev.millrace.RetryPolicy;
import dev.millrace.ScheduleSet;
import dev.millrace.ScheduleSpec;
import dev.millrace.TraceContext;
import dev.millrace.Unique;
import dev.millrace.internal.json.Binding;
import dev.millrace.internal.json.Naming;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Converts members of commands to the SDK's values, and these values to the API's shapes. */
final class Shapes {
  static final Binding API = new Binding(Naming.API, Binding.Nulls.KEPT, Json::of);

  private Shapes() {}

  static <T> T read(Json json, Class<T> type) {
    return type.cast(API.read(json.text(), type));
  }

  record JobSpec(
      String id,
      String type,
      String queue,
      Json payload,
      String idempotencyKey,
      Integer priority,
      Instant runAt,
      Duration delay,
      Instant expiresAt,
      Duration expiresIn,
      Integer maxAttempts,
      RetryPolicy retry,
      Duration lease,
      Duration timeout,
      Unique unique,
      List<String> tags,
      Map<String, String> meta,
      String traceparent,
      String tracestate,
      List<JobLimit> limits,
      String fairKey) {

    NewJob job() {
      return over(NewJob.of(type));
    }

    NewJob over(NewJob given) {
      NewJob job = given;
      if (id != null) job = job.id(id);
      if (queue != null) job = job.queue(queue);
      if (payload != null) job = job.payload(payload);
      if (idempotencyKey != null) job = job.idempotencyKey(idempotencyKey);
      if (priority != null) job = job.priority(priority);
      if (runAt != null) job = job.runAt(runAt);
      if (delay != null) job = job.delay(delay);
      if (expiresAt != null) job = job.expiresAt(expiresAt);
      if (expiresIn != null) job = job.expiresIn(expiresIn);
      if (maxAttempts != null) job = job.maxAttempts(maxAttempts);
      if (retry != null) job = job.retry(retry);
      if (lease != null) job = job.lease(lease);
      if (timeout != null) job = job.timeout(timeout);
      if (unique != null) job = job.unique(unique);
      if (tags != null) job = job.tags(tags.toArray(String[]::new));
      if (meta != null) job = job.meta(meta);
      if (fairKey != null) job = job.fairKey(fairKey);
      if (limits != null) job = job.limits(limits.toArray(JobLimit[]::new));
      return traceparent == null ? job : job.trace(new TraceContext(traceparent, tracestate));
    }
  }

  record Filter(
      Json state, String queue, String name, String type, String tag, String q, Boolean fresh) {
    JobFilter filter() {
      JobFilter filter = JobFilter.all();
      if (state != null) filter = filter.state(states(JobState[].class));
      if (queue != null) filter = filter.queue(queue);
      if (type != null) filter = filter.type(type);
      if (tag != null) filter = filter.tag(tag);
      if (q != null) filter = filter.query(q);
      return fresh != null && fresh ? filter.fresh() : filter;
    }

    <T> T[] states(Class<T[]> type) {
      if (state.text().startsWith("[")) return read(state, type);
      String words = read(state, String.class).replace(",", "\",\"");
      return read(Json.of("[\"" + words + "\"]"), type);
    }
  }

  static QueueSettings settings(Map<String, Json> named) {
    QueueSettings settings = QueueSettings.create();
    for (Map.Entry<String, Json> one : named.entrySet()) {
      Json value = one.getValue();
      settings =
          switch (one.getKey()) {
            case "max_attempts" -> settings.maxAttempts(value.as(Integer.class));
            case "max_crashes" -> settings.maxCrashes(value.as(Integer.class));
            case "retry" -> settings.retry(read(value, RetryPolicy.class));
            case "lease_ms" -> settings.lease(millis(value));
            case "limits" -> settings.limits(read(value, QueueLimit[].class));
            case "max_ready" -> settings.maxReady(value.as(Long.class));
            case "retention" -> retention(settings, read(value, Retention.class));
            default -> throw new IllegalArgumentException(one.getKey());
          };
    }
    return settings;
  }

  record Retention(Json succeededMs, Json deadMs, Json cancelledMs, Json expiredMs) {}

  private static QueueSettings retention(QueueSettings settings, Retention kept) {
    QueueSettings all = settings;
    if (kept.succeededMs != null) all = all.keepSucceeded(millis(kept.succeededMs));
    if (kept.deadMs != null) all = all.keepDead(millis(kept.deadMs));
    if (kept.cancelledMs != null) all = all.keepCancelled(millis(kept.cancelledMs));
    return kept.expiredMs == null ? all : all.keepExpired(millis(kept.expiredMs));
  }

  private static Duration millis(Json value) {
    return value.isNull() ? null : Duration.ofMillis(value.as(Long.class));
  }

  record Spec(
      String cron,
      Duration every,
      String timezone,
      JobSpec job,
      Instant startAt,
      Instant endAt,
      Duration jitter,
      Duration missedAfter,
      ScheduleSpec.Missed missed,
      Integer missedLimit,
      ScheduleSpec.Overlap overlap,
      ScheduleSpec.DstGap dstGap,
      ScheduleSpec.DstOverlap dstOverlap,
      Boolean paused,
      String managedBy,
      Instant from,
      Instant to,
      Integer count,
      Integer limit,
      Boolean dryRun,
      Boolean rerun,
      Boolean prune,
      Boolean force,
      Map<String, Spec> schedules) {

    ScheduleSpec schedule() {
      NewJob job = this.job.job();
      ScheduleSpec spec =
          cron != null ? ScheduleSpec.cron(cron, job) : ScheduleSpec.every(every, job);
      if (timezone != null) spec = spec.timezone(timezone);
      if (startAt != null) spec = spec.startAt(startAt);
      if (endAt != null) spec = spec.endAt(endAt);
      if (jitter != null) spec = spec.jitter(jitter);
      if (missedAfter != null) spec = spec.missedAfter(missedAfter);
      if (missed != null) spec = spec.missed(missed);
      if (missedLimit != null) spec = spec.missedLimit(missedLimit);
      if (overlap != null) spec = spec.overlap(overlap);
      if (dstGap != null) spec = spec.dstGap(dstGap);
      if (dstOverlap != null) spec = spec.dstOverlap(dstOverlap);
      if (paused != null) spec = spec.paused(paused);
      return managedBy == null ? spec : spec.managedBy(managedBy);
    }

    Backfill backfill() {
      Backfill range = Backfill.of(from, to);
      if (limit != null) range = range.limit(limit);
      if (is(dryRun)) range = range.dryRun();
      return is(rerun) ? range.rerun() : range;
    }

    PreviewRequest preview() {
      PreviewRequest preview =
          cron != null ? PreviewRequest.cron(cron) : PreviewRequest.every(every);
      if (timezone != null) preview = preview.timezone(timezone);
      if (from != null) preview = preview.from(from);
      if (count != null) preview = preview.count(count);
      if (dstGap != null) preview = preview.dstGap(dstGap);
      return dstOverlap == null ? preview : preview.dstOverlap(dstOverlap);
    }

    ScheduleSet set(String owner) {
      Map<String, ScheduleSpec> specs = new TreeMap<>();
      if (schedules != null) schedules.forEach((name, spec) -> specs.put(name, spec.schedule()));
      ScheduleSet set = ScheduleSet.of(managedBy != null ? managedBy : owner, specs);
      if (is(prune)) set = set.prune();
      if (is(dryRun)) set = set.dryRun();
      return is(force) ? set.force() : set;
    }

    private static boolean is(Boolean flag) {
      return flag != null && flag;
    }
  }

  // Members of a job that are left out, instead of null, if they have no value.
  private static final List<String> OPTIONAL =
      List.of("payload", "result", "attempts", "logs", "traceparent", "schedule", "workflow");

  static Map<String, Object> of(Job job) {
    Map<String, Object> members = members(job);
    OPTIONAL.forEach(name -> leaveOut(members, name));
    if (job.retry() != null) members.put("retry", withoutNulls(members(job.retry())));
    if (job.payload() != null) members.put("payload", job.payload());
    if (job.result() != null) members.put("result", job.result());
    return members;
  }

  static Map<String, Object> of(BatchItem item) {
    Map<String, Object> members =
        withoutNulls(members(new BatchItem(item.status(), item.id(), item.state(), null)));
    members.put("error", item.error() == null ? null : of(item.error()));
    return members;
  }

  static Map<String, Object> of(Throwable error) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("message", String.valueOf(error.getMessage()));
    if (error instanceof MillraceException known) {
      boolean base = known.getClass() == MillraceException.class;
      members.put("class", base ? "MillraceError" : known.getClass().getSimpleName());
      members.put("code", known.code());
      members.put("status", known.status());
      Duration retryAfter = known.retryAfter();
      members.put("retry_after_ms", retryAfter == null ? null : retryAfter.toMillis());
      members.put("request_id", known.requestId());
      members.put("errors", known.errors());
    } else {
      members.put("class", error.getClass().getName());
      members.put("code", "program");
      members.put("status", null);
      members.put("retry_after_ms", null);
    }
    return members;
  }

  @SuppressWarnings("unchecked")
  static Map<String, Object> members(Object record) {
    return (Map<String, Object>) API.read(API.write(record), Object.class);
  }

  /** Removes members of these names that are null. */
  static void leaveOut(Map<String, Object> members, String... names) {
    for (String name : names) members.remove(name, null);
  }

  static Map<String, Object> withoutNulls(Map<String, Object> members) {
    members.values().removeIf(value -> value == null);
    return members;
  }
}
