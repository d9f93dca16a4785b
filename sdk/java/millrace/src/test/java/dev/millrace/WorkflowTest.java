package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

class WorkflowTest {
  record Rows(int count) {}

  private static final Duration SOON = Duration.ofSeconds(60);
  private static final JobType<String, Rows> LOAD = JobType.of("load", String.class, Rows.class);
  private static final JobType<String, String> PUBLISH =
      JobType.of("publish", String.class, String.class);
  private static final NewJob LATER = NewJob.of("later").delay(Duration.ofHours(1));
  private static TestServer server;
  private static MillraceClient client;

  private String queue;
  private Worker worker;

  @BeforeAll
  static void startServer() {
    server = new TestServer();
    client = MillraceClient.create(server.url());
  }

  @AfterAll
  static void stopServer() {
    server.close();
  }

  @BeforeEach
  void nameQueue(TestInfo test) {
    queue = test.getTestMethod().orElseThrow().getName();
    worker = client.worker(o -> o.queues(queue).pollWait(Duration.ofSeconds(2)));
  }

  @AfterEach
  void stopWorker() {
    worker.stop();
  }

  private NewWorkflow flow() {
    return NewWorkflow.of("nightly").queue(queue).defaults(job -> job.maxAttempts(1));
  }

  private Workflow end(CreatedWorkflow made) {
    return client.waitForWorkflow(made.id(), SOON);
  }

  @Test
  void resultsGoToThoseThatNeedThem() {
    NewWorkflow flow = flow().resultFrom("publish");
    NewMember load = flow.add("load", LOAD.job("monday"));
    flow.add("publish", PUBLISH.job("web")).needs(load);
    worker
        .handle(LOAD, (day, ctx) -> new Rows(7))
        .handle(PUBLISH, (to, ctx) -> to + " " + ctx.parent("load", Rows.class).count());
    CreatedWorkflow made = client.createWorkflow(flow);
    assertTrue(made.isNew());
    worker.start();
    Workflow ended = end(made);
    assertEquals(WorkflowState.SUCCEEDED, ended.state());
    assertEquals("\"web 7\"", ended.result().text());
    assertEquals(2, ended.counts().succeeded());
    MemberDetail member = client.workflowMember(made.id(), "load", Member.Include.RESULT);
    assertEquals(new Rows(7), member.result().as(Rows.class));
    assertNull(client.workflow(made.id()).result());
  }

  @Test
  void aParentThatHasNoResultSaysWhy() {
    NewWorkflow flow = flow();
    NewMember load = flow.add("load", LOAD.job("x"));
    NewMember after = flow.add("after", PUBLISH.job("x")).needs(load);
    flow.add("tell", NewJob.of("tell")).needs(load.failed(), after.ended());
    AtomicReference<JobContext> told = new AtomicReference<>();
    worker
        .handle(
            LOAD,
            (day, ctx) -> {
              throw new IllegalStateException("no rows");
            })
        .consume(JobType.of("tell", Object.class), (nothing, ctx) -> told.set(ctx))
        .start();
    String id = end(client.createWorkflow(flow)).id();
    JobContext ctx = told.get();
    assertEquals(MemberState.FAILED, ctx.parent("load").state());
    assertEquals("dead", ctx.parents().get("load").reason());
    assertEquals(MemberState.SKIPPED, ctx.parent("after").state());
    String job = client.workflowMember(id, "load").jobId();
    Exception failed = assertThrows(IllegalStateException.class, () -> ctx.parent("load", LOAD));
    assertEquals(
        "the parent load has no result: it is failed, dead; its job is " + job,
        failed.getMessage());
    Exception skipped =
        assertThrows(IllegalStateException.class, () -> ctx.parent("after", String.class));
    assertTrue(skipped.getMessage().endsWith("skipped; it never had a job"), skipped.getMessage());
    Exception none = assertThrows(NoSuchElementException.class, () -> ctx.parent("loda"));
    assertEquals("the job needs no loda; it needs after, load", none.getMessage());
  }

  @Test
  void aResultThatIsLeftOutSaysWhy() {
    Json value = Json.of("{\"count\":\"seven\"}");
    Parent large = new Parent("j", MemberState.SUCCEEDED, null, null, "size");
    Exception omitted =
        assertThrows(IllegalStateException.class, () -> large.resultAs("load", Rows.class));
    assertEquals(
        "the result of load is left out: it is too large for a claim, so get the job;"
            + " its job is j",
        omitted.getMessage());
    Parent other = new Parent("j", MemberState.SUCCEEDED, null, value, null);
    Exception misfit = assertThrows(CodecException.class, () -> other.resultAs("load", Rows.class));
    assertTrue(misfit.getMessage().startsWith("the result of load is no "), misfit.getMessage());
  }

  @Test
  void callbacksKnowHowItEnded() {
    AtomicReference<ClaimedWorkflow> told = new AtomicReference<>();
    NewWorkflow flow = flow();
    flow.add("load", LOAD.job("x"));
    flow.onFailure(NewJob.of("page"));
    worker
        .handle(
            LOAD,
            (day, ctx) -> {
              throw new IllegalStateException("no rows");
            })
        .consume(JobType.of("page", Object.class), (nothing, ctx) -> told.set(ctx.workflow()))
        .start();
    Workflow ended = end(client.createWorkflow(flow));
    assertEquals(WorkflowState.FAILED, ended.state());
    assertEquals("member_failed", ended.reason());
    client.waitFor(ended.callbacks().onFailure(), SOON);
    assertEquals("callback", told.get().role());
    assertEquals(WorkflowState.FAILED, told.get().state());
    assertEquals(List.of("load"), told.get().failed());
    assertEquals(1, told.get().counts().failed());
    assertNull(told.get().ref());
  }

  @Test
  void idsAndKeysMakeCreationsSafeToRepeat() {
    NewWorkflow own = flow().id(MillraceClient.makeId(queue));
    own.add(LATER);
    assertTrue(client.createWorkflow(own).isNew());
    assertFalse(client.createWorkflow(own).isNew());
    own.add(LATER);
    assertThrows(MillraceException.IdMismatch.class, () -> client.createWorkflow(own));
    NewWorkflow keyed = flow().idempotencyKey("night-7");
    String id = client.createWorkflow(keyed).id();
    assertEquals(id, client.createWorkflow(keyed).id());
    NewWorkflow order = flow().unique("order-17", Unique.OnConflict.REJECT).open();
    client.createWorkflow(order);
    assertThrows(MillraceException.DuplicateWorkflow.class, () -> client.createWorkflow(order));
    String holder = client.createWorkflow(flow().unique("order-18").open()).id();
    assertEquals(holder, client.createWorkflow(flow().unique("order-18").open()).id());
  }

  @Test
  void faultsAreFoundEarly() {
    NewWorkflow flow = flow();
    NewMember unnamed = flow.add(LATER);
    NewMember named = flow.add("a", LATER);
    assertThrows(IllegalArgumentException.class, () -> flow.add("a", LATER));
    assertThrows(IllegalArgumentException.class, () -> named.needs(unnamed));
    assertThrows(IllegalArgumentException.class, unnamed::failed);
    assertThrows(IllegalArgumentException.class, () -> flow.add("c", LATER.unique("u")));
    named.needs("b");
    flow.add("b", LATER.priority(99_999)).needs(Need.ended("a"));
    MillraceException refused =
        assertThrows(MillraceException.ValidationFailed.class, () -> client.createWorkflow(flow));
    assertEquals("/members/2/job/priority", refused.errors().get(0).where());
  }

  @Test
  void anOpenWorkflowGrows() {
    NewWorkflow flow = flow().open();
    flow.add("a/1", LATER);
    String id = client.createWorkflow(flow).id();
    NewMembers more = NewMembers.create();
    more.add("b", LATER).needs("a/1").needsAny();
    assertEquals(new AddedMembers(1, 0, 2), client.addMembers(id, more));
    assertEquals(new AddedMembers(0, 1, 2), client.addMembers(id, more));
    NewMembers keyed = NewMembers.create().idempotencyKey("k");
    keyed.add(LATER);
    assertEquals(3, client.addMembers(id, keyed).members());
    assertEquals(3, client.addMembers(id, keyed).members());
    MemberDetail b = client.workflowMember(id, "b");
    assertEquals(List.of(Need.of("a/1")), b.needs());
    assertTrue(b.needsAny());
    assertEquals(List.of("a/1"), b.waitsFor());
    assertEquals("later", b.definition().as(Map.class).get("type"));
    assertEquals("open", client.whyWorkflow(id).blocking().get(0).code());
    assertFalse(client.closeWorkflow(id).open());
    NewMembers late = NewMembers.create();
    late.add("c", LATER);
    assertThrows(MillraceException.InvalidState.class, () -> client.addMembers(id, late));
    late.by("a/1");
    assertEquals(4, client.addMembers(id, late).members());
    assertEquals(1, client.skipMember(id, "b").counts().skipped());
    assertThrows(MillraceException.InvalidState.class, () -> client.skipMember(id, "a/1"));
  }

  @Test
  void handlersAddAndSkip() {
    JobType<String, Void> grow = JobType.of("grow", String.class);
    NewWorkflow flow = flow().resultFrom("late").open();
    NewMember first = flow.add("grow", grow.job("idle"));
    flow.add("idle", LATER).needs(first);
    flow.add("bad", grow.job("nobody"));
    worker
        .consume(
            grow,
            (skipped, ctx) -> {
              ctx.add("early", LOAD.job("x").queue(queue)).needs("grow");
              NewMember late = ctx.add("late", PUBLISH.job("x").queue(queue));
              late.needs("early");
              assertThrows(IllegalArgumentException.class, () -> ctx.add("late", LATER));
              ctx.skip(skipped);
            })
        .handle(LOAD, (day, ctx) -> new Rows(7))
        .handle(PUBLISH, (to, ctx) -> ctx.workflow().ref() + ctx.parent("early", LOAD).count())
        .start();
    String id = client.createWorkflow(flow).id();
    MemberDetail bad = client.workflowMember(id, "bad", SOON, Member.Include.JOB);
    assertEquals("outcome_refused", bad.job().lastError().type());
    client.workflowMember(id, "idle", SOON);
    client.closeWorkflow(id);
    Workflow ended = client.waitForWorkflow(id, SOON);
    assertEquals("\"late7\"", ended.result().text());
    assertEquals("by_call", client.workflowMember(id, "idle").reason());
    String alone = client.submit(grow.job("x").queue(queue).maxAttempts(1)).id();
    String error = client.waitFor(alone, SOON).state() + client.get(alone).lastError().message();
    assertTrue(error.startsWith("DEADthe job is no member of a workflow"), error);
  }

  @Test
  void listsHaveFiltersAndPages() {
    for (int i = 0; i < 3; i++) {
      NewWorkflow flow = flow().name("n" + i).tags("many", "t" + i);
      for (int m = 0; m < 5; m++) flow.add(LATER);
      client.createWorkflow(flow);
    }
    WorkflowFilter own = WorkflowFilter.all().queue(queue).fresh();
    List<String> names = new ArrayList<>();
    for (Workflow each : client.allWorkflows(own.limit(2))) names.add(each.name());
    assertEquals(List.of("n2", "n1", "n0"), names);
    assertEquals(2, client.workflows(own.limit(2)).items().size());
    List<Workflow> tagged = client.workflows(own.tag("t1").state(WorkflowState.RUNNING)).items();
    assertEquals("n1", tagged.get(0).name());
    assertEquals(List.of("many", "t1"), tagged.get(0).tags());
    String id = client.workflows(own.name("n0")).items().get(0).id();
    List<Long> numbers = new ArrayList<>();
    MemberFilter two = MemberFilter.all().limit(2).include(Member.Include.JOB);
    for (Member member : client.allMembers(id, two)) numbers.add(member.number());
    assertEquals(List.of(0L, 1L, 2L, 3L, 4L), numbers);
    Member first = client.workflowMembers(id, two).items().get(0);
    assertEquals(JobState.SCHEDULED, first.job().state());
    assertTrue(client.workflowMembers(id, two.state(MemberState.BLOCKED)).items().isEmpty());
    List<GraphLine> lines = new ArrayList<>();
    client.workflowGraph(id).forEach(lines::add);
    assertEquals(new GraphLine(0, null, "job", MemberState.ACTIVE, List.of()), lines.get(0));
    assertEquals(5, lines.size());
  }

  @Test
  void cancelsRetriesAndDeletes() {
    NewWorkflow flow = flow().maxActive(1).timeout(Duration.ofHours(1)).meta(Map.of("k", "v"));
    flow.add("a", LATER);
    flow.add("b", LATER).needs("a");
    String id = client.createWorkflow(flow).id();
    assertThrows(
        MillraceException.WaitTimeout.class,
        () -> client.waitForWorkflow(id, Duration.ofMillis(50)));
    assertThrows(MillraceException.InvalidState.class, () -> client.deleteWorkflow(id));
    client.cancelWorkflow(id, "not needed");
    Workflow ended = client.waitForWorkflow(id, SOON);
    assertEquals(WorkflowState.CANCELLED, ended.state());
    assertEquals("not needed", ended.cancelReason());
    assertEquals(Duration.ofHours(1), ended.timeout());
    assertEquals(Map.of("k", "v"), ended.meta());
    assertThrows(MillraceException.InvalidState.class, () -> client.cancelWorkflow(id, null));
    WorkflowRetry first = WorkflowRetry.create().refs("a").dropLimits(true);
    assertEquals(2, client.retryWorkflow(id, first).generation());
    assertThrows(MillraceException.InvalidState.class, () -> client.retryWorkflow(id));
    client.cancelWorkflow(id, null);
    client.waitForWorkflow(id, SOON);
    client.deleteWorkflow(id);
    assertThrows(MillraceException.NotFound.class, () -> client.workflow(id));
  }

  @Test
  void aWideWorkflowIsSentInParts() {
    NewWorkflow flow = flow().maxActive(1).id(MillraceClient.makeId(queue));
    for (int i = 0; i < 10_000; i++) flow.add(LATER);
    flow.add("last", LATER);
    CreatedWorkflow made = client.createWorkflow(flow);
    assertEquals(10_001, made.workflow().members());
    Json last = client.workflowMember(made.id(), "last").definition();
    assertEquals("1", last.as(Map.class).get("max_attempts").toString());
    assertFalse(made.workflow().open());
    CreatedWorkflow again = client.createWorkflow(flow);
    assertEquals(10_001, again.workflow().members());
    assertFalse(again.isNew());
    flow.idempotencyKey("wide");
    assertThrows(IllegalArgumentException.class, () -> client.createWorkflow(flow));
  }

  @Test
  void whatIsSentIsTheSameInEachJvm() {
    Map<String, String> meta = new LinkedHashMap<>();
    for (int i = 9; i >= 0; i--) meta.put("m" + i, "v");
    Map<String, String> kept = LATER.meta(Map.copyOf(meta)).get("meta");
    assertEquals(meta.keySet().stream().sorted().toList(), List.copyOf(kept.keySet()));
    NewWorkflow flow = NewWorkflow.of("n");
    String given = flow.id("i").write(ApiCodec.STANDARD, Map.of("id", "i"), List.of());
    String made = NewWorkflow.of("n").write(ApiCodec.STANDARD, Map.of("id", "i"), List.of());
    assertEquals(made, given);
  }

  @Test
  void jobsAreInTheTraceOfTheCreation() {
    TraceContext trace =
        new TraceContext("00-" + "a".repeat(32) + "-" + "b".repeat(16) + "-01", "v=1");
    MillraceClient traced = MillraceClient.builder().url(server.url()).trace(() -> trace).build();
    NewWorkflow flow = flow();
    flow.add("a", LATER);
    String id = traced.createWorkflow(flow).id();
    String job = client.workflowMember(id, "a").jobId();
    assertEquals(trace.traceparent(), client.get(job).traceparent());
  }
}
