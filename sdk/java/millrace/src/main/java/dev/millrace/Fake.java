package dev.millrace;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A client without a server, for unit tests. It behaves as the server does, runs the application's
 * handlers in the test's thread, and has a clock that only the test moves.
 *
 * <pre>{@code
 * Fake jobs = Fake.drained(handlers);
 * new Shop(jobs).order("book");
 * assertEquals(1, jobs.enqueued(MAIL).size());
 * jobs.drain();
 * }</pre>
 *
 * <p>Retries have no jitter. Settings of queues set what jobs leave out and how many may be ready;
 * limits are kept, but hold nothing back; schedules are kept, and fire when they are triggered.
 * Workflows have no timeouts and are not retried. Thread-safe.
 */
public final class Fake implements Jobs {
  /** The instant at which the clock starts. */
  public static final Instant START = Instant.parse("2030-01-01T00:00:00Z");

  private static final Comparator<FakeJob> ORDER =
      Comparator.comparingInt(FakeJob::priority)
          .thenComparing(job -> job.runAt)
          .thenComparingLong(job -> job.sequence);

  private record Key(String queue, String key) {}

  private record KeyUse(NewJob submission, Json payload, FakeJob job) {}

  private final Handlers handlers;
  private final boolean isInline;
  private final ApiCodec codec;
  private final Preparer preparer = new Preparer(null);
  private final FakeSetup setup; // guarded by this
  private final FakeWorkflows workflows; // guarded by this

  // Guarded by this; handlers run without the lock.
  private final Map<String, FakeJob> jobs = new LinkedHashMap<>();
  private final Map<Key, KeyUse> keys = new HashMap<>();
  private final Deque<FakeJob> released = new ArrayDeque<>(); // by workflows, if inline
  private Instant now = START;
  private long submissions;
  private long tokens;

  private Fake(Handlers handlers, boolean isInline, Codec codec) {
    this.handlers = handlers;
    this.isInline = isInline;
    this.codec = new ApiCodec(codec);
    setup = new FakeSetup(this.codec);
    workflows = new FakeWorkflows(new OfWorkflows(), this.codec);
  }

  /**
   * Creates a fake whose jobs wait for {@link #drain}.
   *
   * @param handlers the handlers to run; jobs of other types stay ready
   * @return the fake
   */
  public static Fake drained(Handlers handlers) {
    return new Fake(handlers, false, RecordCodec.standard());
  }

  /**
   * Creates a fake in which a job that is due runs during its submission. Later attempts wait for
   * {@link #drain}.
   *
   * @param handlers the handlers to run; jobs of other types stay ready
   * @return the fake
   */
  public static Fake inline(Handlers handlers) {
    return new Fake(handlers, true, RecordCodec.standard());
  }

  /**
   * Returns a fake like this one, without its jobs, that uses another codec.
   *
   * @param other the codec
   * @return the fake
   */
  public Fake codec(Codec other) {
    return new Fake(handlers, isInline, other);
  }

  /**
   * Runs every job that is due, by priority and then age, including jobs that handlers submit.
   *
   * @return the number of attempts that ran
   */
  public int drain() {
    int ran = 0;
    for (Optional<FakeJob> due = nextDue(); due.isPresent(); due = nextDue()) {
      run(due.get());
      ran++;
    }
    return ran;
  }

  /**
   * Moves the clock forward. Nothing runs before the next {@link #drain}.
   *
   * @param time the step, with millisecond precision
   */
  public synchronized void advance(Duration time) {
    now = now.plusMillis(time.toMillis());
    for (FakeJob job : List.copyOf(jobs.values())) {
      if (!job.isWaiting()) continue;
      boolean isExpired =
          job.expiresAt != null && job.startedAt == null && !job.expiresAt.isAfter(now);
      if (isExpired) {
        job.move(JobState.EXPIRED, now);
        tellWorkflow(job);
      } else if (job.isDue(now)) {
        job.state = JobState.READY;
      }
    }
  }

  /**
   * Returns the time of the fake's clock.
   *
   * @return the instant
   */
  public synchronized Instant now() {
    return now;
  }

  /**
   * Returns the submitted jobs of a type, oldest first, in any state, including those of handlers.
   *
   * @param type the type's name
   * @return the jobs, with payload and result
   */
  public synchronized List<Job> enqueued(String type) {
    Set<Job.Include> all = EnumSet.of(Job.Include.PAYLOAD, Job.Include.RESULT);
    return jobs.values().stream()
        .filter(job -> job.spec.type().equals(type))
        .map(job -> job.show(all))
        .toList();
  }

  /**
   * Returns the payloads of the submitted jobs of a type, oldest first.
   *
   * @param <P> the payload
   * @param type the type
   * @return the payloads
   */
  public <P> List<P> enqueued(JobType<P, ?> type) {
    List<P> payloads = new ArrayList<>();
    for (Job job : enqueued(type.name())) payloads.add(job.payload().as(type.payloadType()));
    return payloads;
  }

  @Override
  public Submitted submit(NewJob job) {
    Stored stored = store(preparer.prepare(job));
    if (isInline && stored.isNew()) runIfDue(stored.job());
    synchronized (this) {
      return new Submitted(stored.job().show(Set.of()), stored.isNew());
    }
  }

  @Override
  public List<BatchItem> submitBatch(List<NewJob> batch) {
    List<BatchItem> items = new ArrayList<>();
    for (NewJob each : batch) {
      NewJob job = preparer.prepare(each);
      try {
        Submitted made = submit(job);
        items.add(new BatchItem(made.isNew() ? 201 : 200, made.id(), made.job().state(), null));
      } catch (MillraceException refused) {
        items.add(new BatchItem(refused.status(), job.get("id"), null, refused));
      }
    }
    return items;
  }

  @Override
  public List<BatchItem> submitAtomically(List<NewJob> batch) {
    List<Stored> stored = new ArrayList<>();
    synchronized (this) {
      Map<String, FakeJob> jobsBefore = new LinkedHashMap<>(jobs);
      Map<Key, KeyUse> keysBefore = new HashMap<>(keys);
      try {
        for (NewJob job : batch) stored.add(store(preparer.prepare(job)));
      } catch (MillraceException refused) {
        jobs.clear();
        jobs.putAll(jobsBefore);
        keys.clear();
        keys.putAll(keysBefore);
        throw FakeChecks.within(refused, "/jobs/" + stored.size());
      }
    }
    List<BatchItem> items = new ArrayList<>();
    for (Stored one : stored) {
      if (isInline && one.isNew()) runIfDue(one.job());
      items.add(new BatchItem(one.isNew() ? 201 : 200, one.job().id, one.job().state, null));
    }
    return items;
  }

  @Override
  public synchronized Job get(String id, Job.Include... include) {
    Set<Job.Include> wanted = EnumSet.noneOf(Job.Include.class);
    wanted.addAll(List.of(include));
    return find(id).show(wanted);
  }

  /**
   * Returns a page of jobs, newest first. Only the server supports filters by query and by time.
   *
   * @throws UnsupportedOperationException if the filter has a query or a time
   */
  @Override
  public synchronized Page<Job> list(JobFilter filter) {
    for (String name : List.of("q", "created_after", "created_before")) {
      if (filter.get(name) != null)
        throw new UnsupportedOperationException("a fake has no " + name);
    }
    List<FakeJob> newestFirst = new ArrayList<>(jobs.values());
    newestFirst.sort(Comparator.comparingLong((FakeJob job) -> job.sequence).reversed());
    long before = filter.cursor() == null ? Long.MAX_VALUE : Long.parseLong(filter.cursor());
    Integer limit = filter.get("limit");
    String include = filter.get("include");
    Set<Job.Include> wanted = EnumSet.noneOf(Job.Include.class);
    for (Job.Include one : Job.Include.values()) {
      if (include != null && include.contains(JobFilter.words(one))) wanted.add(one);
    }
    List<Job> items = new ArrayList<>();
    for (FakeJob job : newestFirst) {
      if (job.sequence >= before || !matches(job, filter)) continue;
      if (items.size() == (limit == null ? 50 : limit)) return new Page<>(items, "" + before);
      items.add(job.show(wanted));
      before = job.sequence;
    }
    return new Page<>(items, null);
  }

  @Override
  public synchronized Job cancel(String id, String reason) {
    FakeJob job = find(id);
    if (job.state.isFinal()) throw invalidState();
    cancel(job);
    return job.show(Set.of());
  }

  private void cancel(FakeJob job) {
    if (job.isWaiting()) {
      job.move(JobState.CANCELLED, now);
      tellWorkflow(job);
    } else {
      job.cancelRequested = true;
      job.execution.tell(StopReason.CANCELLED);
    }
  }

  @Override
  public synchronized Job retry(String id) {
    FakeJob job = find(id);
    if (!job.state.isFinal()) throw invalidState();
    if (job.isMember()) throw FakeWorkflows.lacks("retries of workflows");
    job.retry(now);
    return job.show(Set.of());
  }

  @Override
  public String submitTx(Connection ignored, NewJob job) {
    return submit(job).id();
  }

  @Override
  public CreatedWorkflow createWorkflow(NewWorkflow workflow) {
    CreatedWorkflow made;
    synchronized (this) {
      made = workflows.create(workflow);
    }
    runReleased();
    return isInline ? new CreatedWorkflow(workflow(made.id()), made.isNew()) : made;
  }

  @Override
  public synchronized Workflow workflow(String id, Workflow.Include... include) {
    return workflows.find(id).show(include.length > 0);
  }

  /** Returns the workflow if it has ended. Nothing happens meanwhile: drain the fake first. */
  @Override
  public synchronized Workflow waitForWorkflow(String id, Duration timeout) {
    Workflow workflow = workflow(id, Workflow.Include.RESULT);
    if (workflow.state().isFinal()) return workflow;
    String message = "workflow " + id + " has not ended; drain the fake first";
    throw MillraceException.of("wait_timeout", message, null);
  }

  /**
   * Returns a page of workflows, newest first. Only the server supports filters by time.
   *
   * @throws UnsupportedOperationException if the filter has a time
   */
  @Override
  public synchronized Page<Workflow> workflows(WorkflowFilter filter) {
    return workflows.list(filter);
  }

  @Override
  public synchronized Page<Member> workflowMembers(String id, MemberFilter filter) {
    return workflows.members(id, filter);
  }

  @Override
  public synchronized MemberDetail workflowMember(
      String id, String ref, Member.Include... include) {
    FakeWorkflow workflow = workflows.find(id);
    return workflow.describe(workflow.find(ref), Set.of(include));
  }

  @Override
  public AddedMembers addMembers(String id, NewMembers members) {
    AddedMembers added;
    synchronized (this) {
      added = workflows.add(id, members);
    }
    runReleased();
    return added;
  }

  @Override
  public Workflow closeWorkflow(String id) {
    return changed(() -> workflows.close(id));
  }

  @Override
  public Workflow cancelWorkflow(String id, String reason) {
    return changed(() -> workflows.cancel(id, reason));
  }

  @Override
  public Workflow skipMember(String id, String ref) {
    return changed(() -> workflows.skip(id, ref));
  }

  private Workflow changed(Supplier<Workflow> change) {
    Workflow workflow;
    synchronized (this) {
      workflow = change.get();
    }
    runReleased();
    return isInline ? workflow(workflow.id()) : workflow;
  }

  /**
   * Is not supported.
   *
   * @throws UnsupportedOperationException always
   */
  @Override
  public Workflow retryWorkflow(String id, WorkflowRetry retry) {
    throw FakeWorkflows.lacks("retries of workflows");
  }

  @Override
  public synchronized Queue queue(String name) {
    return setup.queue(name, counts(name));
  }

  @Override
  public synchronized Queue putQueue(String name, QueueSettings settings) {
    return setup.putQueue(name, settings, now);
  }

  @Override
  public synchronized Queue patchQueue(String name, QueueSettings settings) {
    return setup.patchQueue(name, settings, now);
  }

  @Override
  public synchronized Limit limit(String name) {
    return setup.limit(name);
  }

  @Override
  public synchronized Limit putLimit(String name, LimitSettings settings) {
    return setup.putLimit(name, settings, now);
  }

  @Override
  public synchronized List<Schedule> schedules() {
    return setup.schedules();
  }

  @Override
  public synchronized Schedule schedule(String name) {
    return setup.schedule(name);
  }

  @Override
  public synchronized Schedule putSchedule(String name, ScheduleSpec spec) {
    return setup.putSchedule(name, spec, now);
  }

  @Override
  public synchronized ScheduleChanges applySchedules(ScheduleSet set) {
    return setup.apply(set, now);
  }

  @Override
  public synchronized void deleteSchedule(String name) {
    setup.deleteSchedule(name);
  }

  @Override
  public Submitted triggerSchedule(String name) {
    Stored stored;
    synchronized (this) {
      stored = store(preparer.prepare(setup.jobOf(name)));
      stored.job().schedule = new JobSchedule(name, now);
    }
    if (isInline) runIfDue(stored.job());
    synchronized (this) {
      return new Submitted(stored.job().show(Set.of()), stored.isNew());
    }
  }

  private record Stored(FakeJob job, boolean isNew) {}

  private synchronized Stored store(NewJob job) {
    Json payload = Json.encoded(job.get("payload"), codec.payloads());
    FakeChecks.check(job, payload);
    String idempotencyKey = job.get("idempotency_key");
    Key key = idempotencyKey == null ? null : new Key(job.queue(), idempotencyKey);
    NewJob submission = job.without("payload");
    KeyUse use = key == null ? null : keys.get(key);
    if (use != null) {
      if (use.submission().equals(submission) && use.payload().equals(payload)) {
        return new Stored(use.job(), false);
      }
      String message = "the key was used for another submission";
      throw FakeChecks.refusal(422, "idempotency_mismatch", message, List.of());
    }
    FakeJob known = known(job, payload);
    if (known != null) return new Stored(known, false);
    setup.checkLimits(job.get("limits"));
    refuseFull(job.queue());
    FakeJob made = new FakeJob(setup.completed(job), payload, ++submissions, now);
    jobs.put(made.id, made);
    if (key != null) keys.put(key, new KeyUse(submission, payload, made));
    return new Stored(made, true);
  }

  private void refuseFull(String queue) {
    Long most = setup.maxReady(queue);
    if (most == null || counts(queue).getOrDefault("ready", 0L) < most) return;
    throw FakeChecks.refusal(429, "queue_full", "the queue " + queue + " is full", List.of());
  }

  private Map<String, Long> counts(String queue) {
    return jobs.values().stream()
        .filter(job -> job.spec.queue().equals(queue))
        .collect(Collectors.groupingBy(job -> JobFilter.words(job.state), Collectors.counting()));
  }

  // Returns the existing job that a submission refers to; null if it creates one.
  private FakeJob known(NewJob job, Json payload) {
    FakeJob sameId = job.get("id") == null ? null : jobs.get(job.<String>get("id"));
    if (sameId != null) {
      if (!sameId.spec.queue().equals(job.queue())) throw duplicate("the id is of another queue");
      if (sameId.isSame(job, payload)) return sameId;
      throw FakeChecks.refusal(409, "id_mismatch", "another job has this id", List.of());
    }
    Unique unique = job.get("unique");
    if (unique == null) return null;
    for (FakeJob holder : jobs.values()) {
      if (!holder.holdsUnique(job.queue(), unique, now)) continue;
      Unique.OnConflict choice = unique.onConflict();
      if (choice == null || choice == Unique.OnConflict.RETURN) return holder;
      if (choice == Unique.OnConflict.DEBOUNCE) {
        throw new UnsupportedOperationException("the fake does not debounce; use a server");
      }
      if (choice == Unique.OnConflict.REJECT || !holder.isWaiting()) {
        throw duplicate("another job has the unique key");
      }
      holder.move(JobState.CANCELLED, now);
    }
    return null;
  }

  private static MillraceException duplicate(String message) {
    return FakeChecks.refusal(409, "duplicate_job", message, List.of());
  }

  private static MillraceException invalidState() {
    String message = "the job's state does not allow this";
    return FakeChecks.refusal(409, "invalid_state", message, List.of());
  }

  private FakeJob find(String id) {
    FakeJob job = jobs.get(id);
    if (job != null) return job;
    throw FakeChecks.refusal(404, "not_found", "there is no such job", List.of());
  }

  private static boolean matches(FakeJob job, JobFilter filter) {
    String states = filter.get("state");
    List<String> tags = job.spec.get("tags");
    return isOrAbsent(filter.get("queue"), job.spec.queue())
        && isOrAbsent(filter.get("type"), job.spec.type())
        && (states == null || List.of(states.split(",")).contains(JobFilter.words(job.state)))
        && (filter.get("tag") == null
            || (tags != null && tags.contains(filter.<String>get("tag"))));
  }

  static boolean isOrAbsent(String wanted, String value) {
    return wanted == null || wanted.equals(value);
  }

  private synchronized Optional<FakeJob> nextDue() {
    Set<String> types = handlers.types();
    return jobs.values().stream()
        .filter(job -> job.isDue(now) && types.contains(job.spec.type()))
        .min(ORDER);
  }

  private void runIfDue(FakeJob job) {
    boolean isDue;
    synchronized (this) {
      isDue = job.isDue(now) && handlers.types().contains(job.spec.type());
    }
    if (isDue) run(job);
  }

  private void run(FakeJob job) {
    Execution execution;
    synchronized (this) {
      ClaimedJob claimed = job.claim(workflows.seenBy(job), workflows.parentsOf(job), now);
      execution = new Execution(claimed, ++tokens, codec, preparer, new Never());
      job.execution = execution;
    }
    Outcome outcome = execution.run(handlers);
    synchronized (this) {
      job.execution = null;
      job.take(execution.takeProgress());
      conclude(job, execution, outcome);
      tellWorkflow(job);
      for (LogBuffer.Line line : execution.logs().take(Integer.MAX_VALUE)) {
        long seq = job.logs.size() + 1;
        job.logs.add(new LogLine(seq, job.attempt, now, line.level(), line.message(), false));
      }
    }
  }

  private void conclude(FakeJob job, Execution execution, Outcome outcome) {
    if (outcome instanceof Outcome.Succeeded success) {
      succeed(job, execution, success);
    } else if (outcome instanceof Outcome.Failed failed) {
      job.fail(failed, now);
    } else if (outcome instanceof Outcome.Cancelled cancelled) {
      if (cancelled.reason() != null) execution.log(LogLevel.INFO, cancelled.reason());
      job.move(JobState.CANCELLED, now);
    } else {
      Duration delay = outcome instanceof Outcome.Snoozed snoozed ? snoozed.delay() : Duration.ZERO;
      job.attempt--;
      job.putOff(JobState.SCHEDULED, delay, now);
    }
  }

  private void succeed(FakeJob job, Execution execution, Outcome.Succeeded success) {
    Json result;
    try {
      result = Json.encoded(success.result(), codec.payloads());
    } catch (RuntimeException | Error refused) {
      String why = "the result has no form in JSON: " + Described.message(refused);
      job.fail(Ack.refusal(why), now);
      return;
    }
    try {
      workflows.grow(job, execution.growth());
    } catch (MillraceException refused) {
      job.fail(Ack.refusal("the fake refused the outcome: " + refused.getMessage()), now);
      return;
    }
    job.succeed(result, now);
    for (NewJob next : execution.enqueued()) store(next);
  }

  private void tellWorkflow(FakeJob job) {
    if (job.workflow != null && job.state.isFinal()) workflows.ended(job);
  }

  /** Runs what workflows have released, if this fake is inline, and what that releases. */
  private void runReleased() {
    for (FakeJob job = nextReleased(); job != null; job = nextReleased()) runIfDue(job);
  }

  private synchronized FakeJob nextReleased() {
    return released.poll();
  }

  /** Takes the jobs of workflows. */
  private final class OfWorkflows implements FakeWorkflows.FakeJobs {
    @Override
    public FakeJob release(NewJob job, JobWorkflow of) {
      FakeJob made = new FakeJob(setup.completed(job), job.get("payload"), ++submissions, now);
      made.workflow = of;
      jobs.put(made.id, made);
      if (isInline) released.add(made);
      return made;
    }

    @Override
    public void cancel(FakeJob job) {
      Fake.this.cancel(job);
    }

    @Override
    public void checkLimits(NewJob job) {
      setup.checkLimits(job.get("limits"));
    }

    @Override
    public Instant now() {
      return now;
    }
  }

  /** Nothing waits to be sent, and nothing stops. */
  private static final class Never implements Execution.Listener {
    @Override
    public void reported() {}

    @Override
    public boolean isStopping() {
      return false;
    }
  }
}
