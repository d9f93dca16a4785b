package dev.millrace;

import dev.millrace.MillraceException.Fault;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A workflow of a {@link Fake} with its members, guarded by the fake's lock. */
final class FakeWorkflow {
  final String id;
  final NewWorkflow given;
  final String content; // as it was sent
  final Instant createdAt;
  final List<FakeMember> members = new ArrayList<>();

  WorkflowState state = WorkflowState.RUNNING;
  String reason;
  String cancelReason;
  boolean isOpen;
  long version = 1;
  Instant endedAt;
  final Map<String, String> callbacks = new HashMap<>(); // ids of jobs, by the API's names

  private final Map<String, FakeMember> byName = new HashMap<>(); // by ref, and by @number
  private final ApiCodec codec;

  FakeWorkflow(String id, NewWorkflow given, String content, Instant now, ApiCodec codec) {
    this.id = id;
    this.given = given;
    this.content = content;
    this.createdAt = now;
    this.codec = codec;
    isOpen = given.get("open") != null;
  }

  FakeMember find(String name) {
    FakeMember member = byName.get(name);
    if (member != null) return member;
    String message = "the workflow has no such member";
    throw FakeChecks.refusal(404, "not_found", message, List.of());
  }

  boolean has(String name) {
    return byName.containsKey(name);
  }

  // Growing.

  /**
   * Adds the members whose refs are not there yet, or none of them if one is bad.
   *
   * @param defaults what their jobs do not set; may be null
   * @return how many were added
   */
  int take(List<NewMember> more, NewJob defaults) {
    Map<Integer, FakeMember> taken = new LinkedHashMap<>(); // by their places
    Set<String> refs = new LinkedHashSet<>(byName.keySet());
    for (int place = 0; place < more.size(); place++) {
      NewMember next = more.get(place);
      if (next.ref() != null && has(next.ref())) continue;
      NewJob definition = complete(next.job(), defaults);
      check(definition, place);
      taken.put(place, new FakeMember(members.size() + taken.size(), next, definition));
      if (next.ref() != null) refs.add(next.ref());
    }
    taken.forEach((place, member) -> checkNeeds(member, refs, place));
    refuseCircle(taken);
    for (FakeMember member : taken.values()) {
      members.add(member);
      byName.put("@" + member.number, member);
      byName.put(member.name(), member);
    }
    return taken.size();
  }

  /** Returns a job of the workflow with what the defaults set, and its payload as JSON. */
  NewJob complete(NewJob job, NewJob defaults) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("queue", given.queue());
    all.put("payload", null);
    all.putAll(job.over(defaults).named());
    all.put("payload", Json.encoded(all.get("payload"), codec.payloads()));
    return new NewJob(all);
  }

  private static void check(NewJob job, int place) {
    try {
      FakeChecks.check(job, job.get("payload"));
    } catch (MillraceException refused) {
      throw FakeChecks.within(refused, "/members/" + place + "/job");
    }
  }

  private static void checkNeeds(FakeMember member, Set<String> refs, int place) {
    for (Need need : member.needs) {
      if (!refs.contains(need.ref())) throw fault(place, "no member has the ref " + need.ref());
    }
    if (member.needsAny && member.needs.isEmpty())
      throw fault(place, "it has no needs to choose from");
  }

  /** Takes away what needs nothing more of the others, until nothing is left. */
  private static void refuseCircle(Map<Integer, FakeMember> taken) {
    Map<String, Integer> rest = new LinkedHashMap<>();
    taken.forEach((place, member) -> rest.put(member.name(), place));
    Set<String> free = new LinkedHashSet<>();
    do {
      free.clear();
      rest.forEach(
          (name, place) -> {
            List<Need> needs = taken.get(place).needs;
            if (needs.stream().noneMatch(need -> rest.containsKey(need.ref()))) free.add(name);
          });
      rest.keySet().removeAll(free);
    } while (!free.isEmpty());
    if (!rest.isEmpty()) {
      throw fault(
          rest.values().iterator().next(), "the member needs itself, through what it needs");
    }
  }

  private static MillraceException fault(int place, String detail) {
    List<Fault> faults = List.of(new Fault("/members/" + place, detail));
    return FakeChecks.refusal(422, "validation_failed", detail, faults);
  }

  // What members wait for.

  /** Says whether a need is met; null while that is open. */
  Boolean isMet(Need need) {
    MemberState end = find(need.ref()).state;
    if (!end.isFinal()) return null;
    if (need.on() == Need.On.ENDED) return true;
    boolean wantsSuccess = need.on() != Need.On.FAILED; // the usual need, if nothing is said
    return end == (wantsSuccess ? MemberState.SUCCEEDED : MemberState.FAILED);
  }

  boolean isReady(FakeMember member) {
    return member.needsAny
        ? member.needs.stream().anyMatch(need -> Boolean.TRUE.equals(isMet(need)))
        : member.needs.stream().allMatch(need -> Boolean.TRUE.equals(isMet(need)));
  }

  /** Says whether its needs can't be met any more. */
  boolean isHopeless(FakeMember member) {
    return member.needsAny
        ? member.needs.stream().allMatch(need -> Boolean.FALSE.equals(isMet(need)))
        : member.needs.stream().anyMatch(need -> Boolean.FALSE.equals(isMet(need)));
  }

  boolean hasRoom() {
    Long most = given.get("max_active");
    return most == null || count(MemberState.ACTIVE) < most;
  }

  /** Says whether a member has failed and nothing caught it. */
  boolean hasFailed() {
    return members.stream().anyMatch(this::isUncaught);
  }

  /** Says whether a member has failed and nothing can catch it any more. */
  boolean hasFailedForGood() {
    return members.stream()
        .filter(this::isUncaught)
        .anyMatch(failed -> members.stream().noneMatch(m -> m.isBlocked() && catches(m, failed)));
  }

  private boolean isUncaught(FakeMember failed) {
    return failed.state == MemberState.FAILED
        && members.stream().noneMatch(member -> member.generation > 0 && catches(member, failed));
  }

  private static boolean catches(FakeMember member, FakeMember failed) {
    return member.needs.contains(new Need(failed.ref, Need.On.FAILED));
  }

  boolean isOver() {
    boolean mayGrow = isOpen && state == WorkflowState.RUNNING;
    return !mayGrow && members.stream().allMatch(member -> member.state.isFinal());
  }

  // Showing.

  Workflow show(boolean withResult) {
    List<String> tags = given.get("tags");
    Map<String, String> meta = given.get("meta");
    OnMemberFailed policy = given.get("on_member_failed");
    Boolean keeps = given.get("keep_members");
    Unique unique = given.get("unique");
    return new Workflow(
        id,
        given.get("name"),
        given.queue(),
        state,
        reason,
        cancelReason,
        1,
        version,
        isOpen,
        createdAt,
        null,
        endedAt,
        members.size(),
        counts(),
        new WorkflowCallbacks(
            callbacks.get("on_success"), callbacks.get("on_failure"), callbacks.get("on_end")),
        tags == null ? List.of() : tags,
        meta == null ? Map.of() : meta,
        policy == null ? OnMemberFailed.CONTINUE : policy,
        given.get("max_active"),
        null,
        given.get("result_from"),
        keeps == null || keeps,
        unique == null ? null : new WorkflowUnique(unique.key()),
        withResult ? result() : null,
        false);
  }

  private Json result() {
    String from = given.get("result_from");
    return from == null || !has(from) ? Json.NULL : find(from).result();
  }

  MemberCounts counts() {
    return new MemberCounts(
        count(MemberState.BLOCKED),
        count(MemberState.ACTIVE),
        count(MemberState.SUCCEEDED),
        count(MemberState.FAILED),
        count(MemberState.SKIPPED));
  }

  private long count(MemberState wanted) {
    return members.stream().filter(member -> member.state == wanted).count();
  }

  Member show(FakeMember member, Set<Member.Include> include) {
    return new Member(
        member.number,
        member.ref,
        member.state,
        member.reason,
        member.generation,
        member.definition.queue(),
        member.jobId(),
        jobOf(member, include),
        include.contains(Member.Include.RESULT) ? member.result() : null,
        false);
  }

  private static Job jobOf(FakeMember member, Set<Member.Include> include) {
    boolean isShown = include.contains(Member.Include.JOB) && member.job != null;
    return isShown ? member.job.show(Set.of()) : null;
  }

  MemberDetail describe(FakeMember member, Set<Member.Include> include) {
    Member shown = show(member, include);
    return new MemberDetail(
        member.needs,
        member.needsAny,
        Json.of(codec.write(member.definition)),
        member.needs.stream().filter(need -> isMet(need) == null).map(Need::ref).limit(20).toList(),
        shown.number(),
        shown.ref(),
        shown.state(),
        shown.reason(),
        shown.generation(),
        shown.queue(),
        shown.jobId(),
        shown.job(),
        shown.result(),
        false);
  }
}
