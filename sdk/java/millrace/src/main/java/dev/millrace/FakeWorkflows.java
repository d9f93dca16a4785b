package dev.millrace;

import dev.millrace.MillraceException.Fault;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * The workflows of a {@link Fake}, guarded by the fake's lock. A member that is released is a job
 * of the fake like any other.
 */
final class FakeWorkflows {
  private static final int MOST_FAILED = 20; // refs that a callback sees

  /** What workflows do with the jobs of their fake. */
  interface FakeJobs {
    FakeJob release(NewJob job, JobWorkflow of);

    void cancel(FakeJob job);

    void checkLimits(NewJob job);

    Instant now();
  }

  private final FakeJobs jobs;
  private final ApiCodec codec;
  private final Map<String, FakeWorkflow> byId = new LinkedHashMap<>();
  private final Map<String, FakeWorkflow> byKey = new HashMap<>(); // by queue and idempotency key

  FakeWorkflows(FakeJobs jobs, ApiCodec codec) {
    this.jobs = jobs;
    this.codec = codec;
  }

  // The calls.

  CreatedWorkflow create(NewWorkflow given) {
    if (given.get("timeout_ms") != null) throw lacks("timeouts of workflows");
    String content = given.write(codec, Map.of(), given.members());
    FakeWorkflow known = known(given, content);
    if (known != null) return new CreatedWorkflow(known.show(false), false);
    String id = given.get("id") == null ? Ids.make(given.queue()) : given.get("id");
    FakeWorkflow made = new FakeWorkflow(id, given.settings(), content, jobs.now(), codec);
    take(made, given.members(), given.get("defaults"));
    String from = given.get("result_from");
    if (from != null && !made.isOpen && !made.has(from)) {
      List<Fault> faults = List.of(new Fault("/result_from", "no member has this ref"));
      throw FakeChecks.refusal(422, "validation_failed", "result_from names no member", faults);
    }
    byId.put(id, made);
    if (given.get("idempotency_key") != null) byKey.put(key(given), made);
    Workflow shown = made.show(false);
    settle(made);
    return new CreatedWorkflow(shown, true);
  }

  private static String key(NewWorkflow given) {
    return given.queue() + " " + given.<String>get("idempotency_key");
  }

  /** Returns the workflow that a creation names; null if it makes one. */
  private FakeWorkflow known(NewWorkflow given, String content) {
    FakeWorkflow sameKey = given.get("idempotency_key") == null ? null : byKey.get(key(given));
    if (sameKey != null) {
      if (sameKey.content.equals(content)) return sameKey;
      String message = "the key was used for another workflow";
      throw FakeChecks.refusal(422, "idempotency_mismatch", message, List.of());
    }
    FakeWorkflow sameId = given.get("id") == null ? null : byId.get(given.<String>get("id"));
    if (sameId != null) {
      if (sameId.content.equals(content)) return sameId;
      throw FakeChecks.refusal(409, "id_mismatch", "another workflow has this id", List.of());
    }
    Unique unique = given.get("unique");
    if (unique == null) return null;
    for (FakeWorkflow holder : byId.values()) {
      Unique held = holder.given.get("unique");
      boolean isSame = held != null && held.key().equals(unique.key());
      if (!isSame || holder.state.isFinal() || !holder.given.queue().equals(given.queue()))
        continue;
      if (unique.onConflict() != Unique.OnConflict.REJECT) return holder;
      String message = "another workflow has the unique key";
      throw FakeChecks.refusal(409, "duplicate_workflow", message, List.of());
    }
    return null;
  }

  private int take(FakeWorkflow workflow, List<NewMember> members, NewJob defaults) {
    for (NewMember member : members) jobs.checkLimits(member.job());
    return workflow.take(members, defaults);
  }

  FakeWorkflow find(String id) {
    FakeWorkflow workflow = byId.get(id);
    if (workflow != null) return workflow;
    throw FakeChecks.refusal(404, "not_found", "there is no such workflow", List.of());
  }

  Page<Workflow> list(WorkflowFilter filter) {
    for (String name : List.of("created_after", "created_before")) {
      if (filter.get(name) != null) throw lacks(name);
    }
    List<FakeWorkflow> newestFirst = new ArrayList<>(byId.values());
    Collections.reverse(newestFirst);
    newestFirst.removeIf(workflow -> !matches(workflow, filter));
    return page(newestFirst, filter.get("limit"), filter.cursor(), each -> each.show(false));
  }

  private static boolean matches(FakeWorkflow workflow, WorkflowFilter filter) {
    String states = filter.get("state");
    List<String> tags = workflow.given.get("tags");
    String state = JobFilter.words(workflow.state);
    return (states == null || List.of(states.split(",")).contains(state))
        && Fake.isOrAbsent(filter.get("queue"), workflow.given.queue())
        && Fake.isOrAbsent(filter.get("name"), workflow.given.get("name"))
        && (filter.get("tag") == null
            || (tags != null && tags.contains(filter.<String>get("tag"))));
  }

  Page<Member> members(String id, MemberFilter filter) {
    FakeWorkflow workflow = find(id);
    String state = filter.get("state");
    List<FakeMember> members = new ArrayList<>(workflow.members);
    members.removeIf(member -> !Fake.isOrAbsent(state, JobFilter.words(member.state)));
    String include = filter.get("include");
    List<String> words = include == null ? List.of() : List.of(include.split(","));
    Set<Member.Include> wanted = EnumSet.noneOf(Member.Include.class);
    for (Member.Include each : Member.Include.values()) {
      if (words.contains(JobFilter.words(each))) wanted.add(each);
    }
    Function<FakeMember, Member> shape = member -> workflow.show(member, wanted);
    return page(members, filter.get("limit"), filter.cursor(), shape);
  }

  private static <T, S> Page<S> page(
      List<T> all, Integer limit, String cursor, Function<T, S> shape) {
    int from = cursor == null ? 0 : Integer.parseInt(cursor);
    int to = Math.min(from + (limit == null ? 50 : limit), all.size());
    List<S> items = all.subList(Math.min(from, to), to).stream().map(shape).toList();
    return new Page<>(items, to == all.size() ? null : "" + to);
  }

  AddedMembers add(String id, NewMembers more) {
    FakeWorkflow workflow = find(id);
    String by = more.get("by");
    boolean mayGrow = by == null ? workflow.isOpen : workflow.find(by).state == MemberState.ACTIVE;
    if (!mayGrow || workflow.state != WorkflowState.RUNNING) {
      throw invalidState("the workflow is closed, and no active member adds them");
    }
    int added = take(workflow, more.members(), null);
    if (more.get("close") != null) workflow.isOpen = false;
    settle(workflow);
    int all = more.members().size();
    return new AddedMembers(added, all - added, workflow.members.size());
  }

  Workflow close(String id) {
    FakeWorkflow workflow = find(id);
    workflow.isOpen = false;
    Workflow shown = workflow.show(false);
    settle(workflow);
    return shown;
  }

  Workflow cancel(String id, String reason) {
    FakeWorkflow workflow = find(id);
    if (workflow.state.isFinal()) throw invalidState("the workflow has ended");
    workflow.cancelReason = reason;
    stop(workflow, "cancelled");
    return workflow.show(false);
  }

  Workflow skip(String id, String ref) {
    FakeWorkflow workflow = find(id);
    FakeMember member = workflow.find(ref);
    refuseUnlessBlocked(member);
    member.end(MemberState.SKIPPED, "by_call");
    settle(workflow);
    return workflow.show(false);
  }

  private static void refuseUnlessBlocked(FakeMember member) {
    if (!member.isBlocked()) throw invalidState("the member " + member.name() + " is not blocked");
  }

  private static MillraceException invalidState(String message) {
    return FakeChecks.refusal(409, "invalid_state", message, List.of());
  }

  static UnsupportedOperationException lacks(String what) {
    return new UnsupportedOperationException("the fake has no " + what + "; use a server");
  }

  // What follows.

  /** Releases and skips what can be decided, and ends the workflow if it is over. */
  private void settle(FakeWorkflow workflow) {
    if (workflow.state.isFinal()) return;
    boolean isMoving;
    do {
      isMoving = false;
      for (FakeMember member : List.copyOf(workflow.members)) {
        if (member.isBlocked() && decide(workflow, member)) isMoving = true;
      }
    } while (isMoving);
    boolean stops = workflow.given.get("on_member_failed") == OnMemberFailed.STOP;
    if (stops && workflow.state == WorkflowState.RUNNING && workflow.hasFailedForGood()) {
      stop(workflow, "member_failed");
    } else if (workflow.isOver()) {
      end(workflow);
    }
  }

  /** Says whether the member is no longer blocked. */
  private boolean decide(FakeWorkflow workflow, FakeMember member) {
    if (workflow.state == WorkflowState.STOPPING) {
      member.end(MemberState.SKIPPED, "cancelled");
    } else if (!workflow.isReady(member)) {
      if (!workflow.isHopeless(member)) return false;
      member.end(MemberState.SKIPPED, null);
    } else {
      if (!workflow.hasRoom()) return false;
      member.state = MemberState.ACTIVE;
      member.generation = 1;
      member.job = release(workflow, member.definition, member);
    }
    return true;
  }

  private FakeJob release(FakeWorkflow workflow, NewJob job, FakeMember member) {
    String name = workflow.given.get("name");
    JobWorkflow of =
        member == null
            ? new JobWorkflow(workflow.id, name, null, null, "callback")
            : new JobWorkflow(workflow.id, name, member.ref, member.number, "member");
    return jobs.release(job, of);
  }

  private void stop(FakeWorkflow workflow, String reason) {
    workflow.state = WorkflowState.STOPPING;
    workflow.reason = reason;
    settle(workflow);
    for (FakeMember member : workflow.members) {
      if (member.state == MemberState.ACTIVE) jobs.cancel(member.job);
    }
  }

  private void end(FakeWorkflow workflow) {
    boolean ignores = workflow.given.get("on_member_failed") == OnMemberFailed.IGNORE;
    if (workflow.reason == null && !ignores && workflow.hasFailed()) {
      workflow.reason = "member_failed";
    }
    boolean isGood = workflow.reason == null;
    boolean isCancelled = "cancelled".equals(workflow.reason);
    workflow.state =
        isGood
            ? WorkflowState.SUCCEEDED
            : isCancelled ? WorkflowState.CANCELLED : WorkflowState.FAILED;
    workflow.endedAt = jobs.now();
    for (String callback : List.of(isGood ? "on_success" : "on_failure", "on_end")) {
      NewJob job = workflow.given.get(callback);
      if (job == null) continue;
      workflow.callbacks.put(
          callback,
          release(workflow, workflow.complete(job, workflow.given.get("defaults")), null).id);
    }
  }

  // What the fake tells of jobs.

  /** Takes the end of a job of a workflow. */
  void ended(FakeJob job) {
    if (!job.isMember()) return; // a callback
    FakeWorkflow workflow = find(job.workflow.id());
    boolean isGood = job.state == JobState.SUCCEEDED;
    memberOf(workflow, job)
        .end(
            isGood ? MemberState.SUCCEEDED : MemberState.FAILED,
            isGood ? null : JobFilter.words(job.state));
    settle(workflow);
  }

  private static FakeMember memberOf(FakeWorkflow workflow, FakeJob job) {
    return workflow.members.get(job.workflow.number().intValue());
  }

  /** Adds and skips what a handler wants that has succeeded, or refuses all of it. */
  void grow(FakeJob job, Growth growth) {
    if (growth.isEmpty()) return;
    FakeWorkflow workflow = find(job.workflow.id());
    List<FakeMember> skipped = growth.skip().stream().map(workflow::find).toList();
    skipped.forEach(FakeWorkflows::refuseUnlessBlocked);
    take(workflow, growth.members(), null);
    for (FakeMember member : skipped) member.end(MemberState.SKIPPED, "by_call");
  }

  /** Returns what a job sees of its workflow; null if it is of none. */
  ClaimedWorkflow seenBy(FakeJob job) {
    JobWorkflow of = job.workflow;
    if (of == null) return null;
    FakeWorkflow workflow = find(of.id());
    boolean isMember = job.isMember();
    return new ClaimedWorkflow(
        1,
        workflow.state,
        isMember ? null : workflow.counts(),
        isMember ? null : failed(workflow),
        of.id(),
        of.name(),
        of.ref(),
        of.number(),
        of.role());
  }

  private static List<String> failed(FakeWorkflow workflow) {
    return workflow.members.stream()
        .filter(member -> member.state == MemberState.FAILED)
        .map(FakeMember::name)
        .limit(MOST_FAILED)
        .toList();
  }

  /** Returns what the member of a job needs, as far as it has ended. */
  Map<String, Parent> parentsOf(FakeJob job) {
    if (!job.isMember()) return Map.of();
    FakeWorkflow workflow = find(job.workflow.id());
    Map<String, Parent> parents = new HashMap<>();
    for (Need need : memberOf(workflow, job).needs) {
      FakeMember parent = workflow.find(need.ref());
      if (parent.state.isFinal()) parents.put(need.ref(), parent.asParent());
    }
    return parents;
  }
}
