package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class FakeWorkflowTest {
  private static final JobType<Integer, Integer> NUMBER =
      JobType.of("number", Integer.class, Integer.class).maxAttempts(1);
  private static final JobType<String, Integer> SUM =
      JobType.of("sum", String.class, Integer.class);
  private static final JobType<String, Void> GROW = JobType.of("grow", String.class);
  private static final JobType<String, Void> TELL = JobType.of("tell", String.class);

  private final List<String> told = new ArrayList<>();
  private final Handlers handlers =
      new Handlers()
          .handle(
              NUMBER,
              (number, ctx) -> {
                if (number < 0) throw new IllegalStateException("negative");
                return number;
              })
          .handle(
              SUM,
              (nothing, ctx) ->
                  ctx.parents().keySet().stream().mapToInt(ref -> ctx.parent(ref, NUMBER)).sum())
          .consume(
              GROW,
              (skipped, ctx) -> {
                ctx.add("one", NUMBER.job(1)).needs(ctx.workflow().ref());
                ctx.add("two", SUM.job("")).needs("one");
                ctx.skip(skipped);
              })
          .consume(
              TELL, (name, ctx) -> told.add(name + " " + ctx.workflow().state() + failed(ctx)));

  private static String failed(JobContext ctx) {
    return ctx.workflow().failed() + " " + ctx.workflow().counts().succeeded();
  }

  private static NewWorkflow twoAndTheirSum(int first) {
    NewWorkflow flow = NewWorkflow.of("sum").resultFrom("sum");
    NewMember a = flow.add("a", NUMBER.job(first));
    NewMember b = flow.add("b", NUMBER.job(2));
    flow.add("sum", SUM.job("")).needs(a, b);
    return flow.onSuccess(TELL.job("good")).onFailure(TELL.job("bad")).onEnd(TELL.job("end"));
  }

  private static Map<String, MemberState> states(Fake jobs, String id) {
    Map<String, MemberState> states = new HashMap<>();
    for (Member each : jobs.allMembers(id, MemberFilter.all().limit(2))) {
      states.put(each.ref(), each.state());
    }
    return states;
  }

  @Test
  void membersWaitForDrain() {
    Fake jobs = Fake.drained(handlers);
    CreatedWorkflow made = jobs.createWorkflow(twoAndTheirSum(1));
    assertTrue(made.isNew());
    assertEquals(2, jobs.workflow(made.id()).counts().active());
    assertEquals(1, jobs.workflow(made.id()).counts().blocked());
    assertThrows(
        MillraceException.WaitTimeout.class,
        () -> jobs.waitForWorkflow(made.id(), Duration.ofMinutes(1)));
    assertEquals(5, jobs.drain());
    Workflow ended = jobs.waitForWorkflow(made.id(), Duration.ZERO);
    assertEquals(WorkflowState.SUCCEEDED, ended.state());
    assertEquals("3", ended.result().text());
    assertEquals(List.of("good SUCCEEDED[] 3", "end SUCCEEDED[] 3"), told);
    MemberDetail sum = jobs.workflowMember(made.id(), "sum", Member.Include.JOB);
    assertEquals("sum", sum.job().workflow().ref());
    assertEquals(List.of(Need.of("a"), Need.of("b")), sum.needs());
  }

  @Test
  void inlineMembersRunWithinTheCall() {
    Fake jobs = Fake.inline(handlers);
    assertEquals(
        WorkflowState.SUCCEEDED, jobs.createWorkflow(twoAndTheirSum(1)).workflow().state());
    String id = jobs.createWorkflow(NewWorkflow.create().open()).id();
    NewMembers more = NewMembers.create();
    more.add(NUMBER.job(1));
    jobs.addMembers(id, more);
    assertEquals(1, jobs.workflow(id).counts().succeeded());
    assertEquals(WorkflowState.SUCCEEDED, jobs.closeWorkflow(id).state());
  }

  @Test
  void aFailureSkipsWhatHangsOnIt() {
    Fake jobs = Fake.drained(handlers);
    String id = jobs.createWorkflow(twoAndTheirSum(-1)).id();
    jobs.drain();
    assertEquals(WorkflowState.FAILED, jobs.workflow(id).state());
    assertEquals("member_failed", jobs.workflow(id).reason());
    assertEquals("dead", jobs.workflowMember(id, "a").reason());
    assertEquals(MemberState.SKIPPED, jobs.workflowMember(id, "sum").state());
    assertEquals(List.of("bad FAILED[a] 1", "end FAILED[a] 1"), told);
    assertThrows(UnsupportedOperationException.class, () -> jobs.retryWorkflow(id));
    String job = jobs.workflowMember(id, "a").jobId();
    assertThrows(UnsupportedOperationException.class, () -> jobs.retry(job));
  }

  @Test
  void aCaughtFailureIsNone() {
    Fake jobs = Fake.drained(handlers);
    NewWorkflow flow = NewWorkflow.create();
    NewMember card = flow.add("card", NUMBER.job(-1));
    NewMember invoice = flow.add("invoice", NUMBER.job(1)).needs(card.failed());
    flow.add("ship", NUMBER.job(2)).needs(card, invoice).needsAny();
    flow.add("thank", NUMBER.job(3)).needs(card);
    String id = jobs.createWorkflow(flow).id();
    jobs.drain();
    assertEquals(WorkflowState.SUCCEEDED, jobs.workflow(id).state());
    Map<String, MemberState> wanted =
        Map.of(
            "card", MemberState.FAILED,
            "invoice", MemberState.SUCCEEDED,
            "ship", MemberState.SUCCEEDED,
            "thank", MemberState.SKIPPED);
    assertEquals(wanted, states(jobs, id));
  }

  @Test
  void policiesDecideOnTheRest() {
    Fake jobs = Fake.drained(handlers);
    NewWorkflow stops = twoAndTheirSum(-1).onMemberFailed(OnMemberFailed.STOP);
    stops.add("later", NUMBER.job(1).delay(Duration.ofHours(1)));
    String stopped = jobs.createWorkflow(stops).id();
    String ignored =
        jobs.createWorkflow(twoAndTheirSum(-1).onMemberFailed(OnMemberFailed.IGNORE)).id();
    jobs.drain();
    assertEquals(WorkflowState.FAILED, jobs.workflow(stopped).state());
    assertEquals("cancelled", jobs.workflowMember(stopped, "later").reason());
    assertEquals(WorkflowState.SUCCEEDED, jobs.workflow(ignored).state());
  }

  @Test
  void openWorkflowsGrowUntilTheyAreClosed() {
    Fake jobs = Fake.drained(handlers);
    // The defaults are those of the creation, as on the server.
    NewWorkflow open = NewWorkflow.create().open().defaults(job -> job.maxAttempts(9));
    String id = jobs.createWorkflow(open.maxActive(1)).id();
    NewMembers more = NewMembers.create();
    more.add("a", NewJob.of("number").payload(1));
    more.add("b", NUMBER.job(2));
    assertEquals(new AddedMembers(2, 0, 2), jobs.addMembers(id, more));
    assertEquals(new AddedMembers(0, 2, 2), jobs.addMembers(id, more));
    assertEquals(5, jobs.get(jobs.workflowMember(id, "a").jobId()).maxAttempts());
    assertEquals(1, jobs.workflow(id).counts().active());
    assertEquals(2, jobs.drain());
    assertEquals(WorkflowState.RUNNING, jobs.workflow(id).state());
    jobs.closeWorkflow(id);
    assertEquals(WorkflowState.SUCCEEDED, jobs.workflow(id).state());
    assertThrows(MillraceException.InvalidState.class, () -> jobs.addMembers(id, more));
  }

  @Test
  void handlersAddAndSkip() {
    Fake jobs = Fake.drained(handlers);
    NewWorkflow flow = NewWorkflow.create().resultFrom("two").open();
    NewMember grow = flow.add("grow", GROW.job("idle"));
    flow.add("idle", NUMBER.job(7)).needs(grow);
    String id = jobs.createWorkflow(flow).id();
    jobs.drain();
    assertEquals("1", jobs.workflow(id, Workflow.Include.RESULT).result().text());
    assertEquals("by_call", jobs.workflowMember(id, "idle").reason());
    // A growth that is refused fails the attempt, and none of it is there.
    NewMembers other = NewMembers.create().close();
    other.add("bad", GROW.job("one").maxAttempts(1));
    jobs.addMembers(id, other);
    jobs.drain();
    assertEquals(MemberState.FAILED, jobs.workflowMember(id, "bad").state());
    assertEquals(5, jobs.workflow(id).members());
    String alone = jobs.submit(GROW.job("idle").maxAttempts(1)).id();
    jobs.drain();
    String error = jobs.get(alone).lastError().message();
    assertTrue(error.startsWith("the job is no member of a workflow"), error);
  }

  @Test
  void cancelledAndSkippedOnesEnd() {
    Fake jobs = Fake.drained(handlers);
    String id = jobs.createWorkflow(twoAndTheirSum(1)).id();
    assertEquals(MemberState.SKIPPED, skipped(jobs, id, "sum"));
    assertThrows(MillraceException.InvalidState.class, () -> jobs.skipMember(id, "a"));
    jobs.cancelWorkflow(id, "withdrawn");
    Workflow ended = jobs.workflow(id);
    assertEquals(WorkflowState.CANCELLED, ended.state());
    assertEquals("withdrawn", ended.cancelReason());
    assertEquals(2, ended.counts().failed());
    assertEquals(2, jobs.drain()); // the callbacks
    assertThrows(MillraceException.InvalidState.class, () -> jobs.cancelWorkflow(id, null));
  }

  private static MemberState skipped(Fake jobs, String id, String ref) {
    jobs.skipMember(id, ref);
    return jobs.workflowMember(id, ref).state();
  }

  @Test
  void creationsAreRecognized() {
    Fake jobs = Fake.drained(handlers);
    NewWorkflow keyed = twoAndTheirSum(1).idempotencyKey("k");
    String id = jobs.createWorkflow(keyed).id();
    assertEquals(id, jobs.createWorkflow(keyed).id());
    keyed.add("c", NUMBER.job(3));
    assertThrows(MillraceException.IdempotencyMismatch.class, () -> jobs.createWorkflow(keyed));
    NewWorkflow own = twoAndTheirSum(1).id(MillraceClient.makeId("default"));
    assertTrue(jobs.createWorkflow(own).isNew());
    assertFalse(jobs.createWorkflow(own).isNew());
    assertThrows(
        MillraceException.IdMismatch.class, () -> jobs.createWorkflow(own.name("another")));
    NewWorkflow unique = NewWorkflow.create().unique("u").open();
    assertEquals(jobs.createWorkflow(unique).id(), jobs.createWorkflow(unique).id());
    unique.unique("u", Unique.OnConflict.REJECT);
    assertThrows(MillraceException.DuplicateWorkflow.class, () -> jobs.createWorkflow(unique));
    assertEquals(3, jobs.workflows(WorkflowFilter.all().limit(3)).items().size());
    assertEquals(2, jobs.workflows(WorkflowFilter.all().name("sum")).items().size());
  }

  @Test
  void whatIsBadIsRefusedAsAWhole() {
    Fake jobs = Fake.drained(handlers);
    NewWorkflow circle = NewWorkflow.create();
    circle.add("a", NUMBER.job(1)).needs("b");
    circle.add("b", NUMBER.job(1)).needs("a");
    NewWorkflow unknown = NewWorkflow.create();
    unknown.add("a", NUMBER.job(1)).needs("nobody");
    NewWorkflow bad = NewWorkflow.create();
    bad.add("a", NUMBER.job(1).priority(99_999));
    for (NewWorkflow each : List.of(circle, unknown, bad)) {
      MillraceException refused =
          assertThrows(MillraceException.ValidationFailed.class, () -> jobs.createWorkflow(each));
      assertTrue(refused.errors().get(0).where().startsWith("/members/0"), refused.getMessage());
    }
    NewWorkflow timed = NewWorkflow.create().timeout(Duration.ofHours(1));
    assertThrows(UnsupportedOperationException.class, () -> jobs.createWorkflow(timed));
    assertTrue(jobs.workflows(WorkflowFilter.all()).items().isEmpty());
    assertEquals(0, jobs.drain());
  }
}
