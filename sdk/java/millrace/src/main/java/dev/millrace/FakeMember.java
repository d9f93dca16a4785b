package dev.millrace;

import java.util.List;

/** A member of a {@link FakeWorkflow}, guarded by the fake's lock. */
final class FakeMember {
  final long number;
  final String ref; // null if it has none
  final List<Need> needs;
  final boolean needsAny;
  final NewJob definition; // with the defaults of the workflow

  MemberState state = MemberState.BLOCKED;
  String reason;
  long generation; // how often it was released
  FakeJob job; // once it is released

  FakeMember(long number, NewMember given, NewJob definition) {
    this.number = number;
    this.ref = given.ref();
    this.needs = List.copyOf(given.needs());
    this.needsAny = given.isAny();
    this.definition = definition;
  }

  /** Returns its ref, or else what stands for it. */
  String name() {
    return ref == null ? "@" + number : ref;
  }

  boolean isBlocked() {
    return state == MemberState.BLOCKED;
  }

  void end(MemberState end, String why) {
    state = end;
    reason = why;
  }

  /** Returns it as the handlers see it that need it. */
  Parent asParent() {
    return new Parent(jobId(), state, reason, isDone() ? result() : null, null);
  }

  private boolean isDone() {
    return state == MemberState.SUCCEEDED;
  }

  String jobId() {
    return job == null ? null : job.id;
  }

  Json result() {
    return job == null || job.result == null ? Json.NULL : job.result;
  }
}
