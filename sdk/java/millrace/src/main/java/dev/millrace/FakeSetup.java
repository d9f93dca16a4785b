package dev.millrace;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The queues, limits and schedules of a {@link Fake}, guarded by the fake's lock. */
final class FakeSetup {
  /** What was declared under a name, as members in the API's form. */
  private record Declared(Map<String, Object> members, long version, Instant createdAt) {}

  private static final Map<String, Object> QUEUE_DEFAULTS =
      Map.of(
          "limits",
          List.of(),
          "max_attempts",
          FakeJob.MAX_ATTEMPTS,
          "retry",
          FakeJob.USUAL,
          "lease_ms",
          FakeJob.LEASE,
          "retention",
          Map.of());
  private static final Map<String, Object> LIMIT_DEFAULTS =
      Map.of("per_key", false, "keys", Map.of(), "paused", false, "in_use", 0, "waiting", 0);
  private static final Map<String, Object> SCHEDULE_DEFAULTS =
      Map.of("paused", false, "state", "active", "next", List.of(), "timezone", "UTC");

  private final Map<String, Declared> queues = new TreeMap<>();
  private final Map<String, Declared> limits = new TreeMap<>();
  private final Map<String, Declared> schedules = new TreeMap<>();
  private final ApiCodec codec;

  FakeSetup(ApiCodec codec) {
    this.codec = codec;
  }

  // Queues.

  /** Returns the job with the settings of its queue for members that it does not set. */
  NewJob completed(NewJob job) {
    Declared queue = queues.get(job.queue());
    if (queue == null) return job;
    NewJob complete = job;
    for (String name : List.of("max_attempts", "retry", "lease_ms")) {
      Object value = queue.members().get(name);
      if (job.get(name) == null && value != null) complete = complete.with(name, value);
    }
    return complete;
  }

  /** Refuses a job that names a limit that does not exist. */
  void checkLimits(List<JobLimit> named) {
    if (named != null) named.forEach(limit -> checkLimit(limit.name()));
  }

  private void checkLimit(String name) {
    if (limits.containsKey(name)) return;
    String message = "no limit has this name; check the spelling, or create the limit";
    throw FakeChecks.refusal(422, "unknown_limit", message, List.of());
  }

  /** Returns how many ready jobs a queue may have; null for any number. */
  Long maxReady(String queue) {
    Declared known = queues.get(queue);
    return known == null ? null : (Long) known.members().get("max_ready");
  }

  Queue putQueue(String name, QueueSettings settings, Instant now) {
    checkLimits(settings);
    put(queues, name, settings.named(), now);
    return queue(name, Map.of());
  }

  private void checkLimits(QueueSettings settings) {
    List<QueueLimit> named = settings.get("limits");
    if (named != null) named.forEach(limit -> checkLimit(limit.name()));
  }

  Queue patchQueue(String name, QueueSettings settings, Instant now) {
    Declared known = find(queues, name, "queue");
    checkLimits(settings);
    Map<String, Object> changed = new LinkedHashMap<>(known.members());
    changed.putAll(settings.named());
    put(queues, name, changed, now);
    return queue(name, Map.of());
  }

  /**
   * @param counts the numbers of its jobs, by the words of their states
   */
  Queue queue(String name, Map<String, Long> counts) {
    Declared known = queues.get(name);
    if (known == null && counts.isEmpty()) throw missing("queue", name);
    Map<String, Object> settings = new LinkedHashMap<>(QUEUE_DEFAULTS);
    if (known != null) settings.putAll(known.members());
    Map<String, Object> shown = new LinkedHashMap<>();
    shown.put("name", name);
    shown.put("paused", false);
    shown.put("counts", counts);
    shown.put("settings", settings);
    shown.put("rates", Map.of());
    shown.put("version", known == null ? 1 : known.version());
    return codec.read(codec.write(shown), Queue.class);
  }

  // Limits.

  Limit putLimit(String name, LimitSettings settings, Instant now) {
    put(limits, name, settings.named(), now);
    return limit(name);
  }

  Limit limit(String name) {
    return show(name, find(limits, name, "limit"), LIMIT_DEFAULTS, Limit.class);
  }

  // Schedules.

  Schedule putSchedule(String name, ScheduleSpec spec, Instant now) {
    put(schedules, name, spec.named(), now);
    return schedule(name);
  }

  Schedule schedule(String name) {
    return show(name, find(schedules, name, "schedule"), SCHEDULE_DEFAULTS, Schedule.class);
  }

  List<Schedule> schedules() {
    return schedules.keySet().stream().map(this::schedule).toList();
  }

  void deleteSchedule(String name) {
    find(schedules, name, "schedule");
    schedules.remove(name);
  }

  NewJob jobOf(String schedule) {
    return (NewJob) find(schedules, schedule, "schedule").members().get("job");
  }

  ScheduleChanges apply(ScheduleSet set, Instant now) {
    List<String> created = new ArrayList<>();
    List<String> updated = new ArrayList<>();
    List<String> unchanged = new ArrayList<>();
    List<String> deleted = new ArrayList<>();
    String owner = set.get("managed_by");
    boolean isReal = set.get("dry_run") == null;
    new TreeMap<>(set.schedules())
        .forEach(
            (name, spec) -> {
              Map<String, Object> members = spec.managedBy(owner).named();
              Declared known = schedules.get(name);
              boolean isSame = known != null && known.members().equals(members);
              (known == null ? created : isSame ? unchanged : updated).add(name);
              if (isReal) put(schedules, name, members, now);
            });
    if (set.get("prune") != null) {
      schedules.forEach(
          (name, known) -> {
            boolean isOwn = owner.equals(known.members().get("managed_by"));
            if (isOwn && !set.schedules().containsKey(name)) deleted.add(name);
          });
      if (isReal) deleted.forEach(schedules::remove);
    }
    return new ScheduleChanges(created, updated, unchanged, deleted);
  }

  // All of them.

  private static void put(
      Map<String, Declared> all, String name, Map<String, Object> members, Instant now) {
    Declared known = all.get(name);
    if (known != null && known.members().equals(members)) return;
    long version = known == null ? 1 : known.version() + 1;
    all.put(name, new Declared(members, version, known == null ? now : known.createdAt()));
  }

  private static Declared find(Map<String, Declared> all, String name, String kind) {
    Declared known = all.get(name);
    if (known == null) throw missing(kind, name);
    return known;
  }

  private static MillraceException missing(String kind, String name) {
    String message = "there is no " + kind + " " + name;
    return FakeChecks.refusal(404, "not_found", message, List.of());
  }

  private <T> T show(String name, Declared known, Map<String, Object> defaults, Class<T> type) {
    Map<String, Object> shown = new LinkedHashMap<>(defaults);
    shown.putAll(known.members());
    if (shown.get("job") instanceof NewJob job) shown.put("job", Json.of(codec.write(job)));
    shown.put("name", name);
    shown.put("version", known.version());
    shown.put("created_at", known.createdAt());
    return codec.read(codec.write(shown), type);
  }
}
