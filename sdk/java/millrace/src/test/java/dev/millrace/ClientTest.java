package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class ClientTest {
  record Mail(String to, int template) {}

  static final JobType<Mail, Object> MAIL =
      JobType.of("mail.send", Mail.class, Object.class)
          .queue("mail")
          .maxAttempts(8)
          .retry(RetryPolicy.list(Duration.ofSeconds(1), Duration.ofSeconds(9)));

  static TestServer server;
  static MillraceClient client;

  @BeforeAll
  static void start() {
    server = new TestServer();
    client = MillraceClient.create(server.url());
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void submitsAllMembers() {
    Instant late = Instant.parse("2031-01-01T00:00:00Z");
    Submitted made =
        client.submit(
            MAIL,
            new Mail("ada", 7),
            job ->
                job.priority(-3)
                    .delay(Duration.ofMinutes(5))
                    .expiresAt(late)
                    .lease(Duration.ofSeconds(5))
                    .timeout(Duration.ofSeconds(60))
                    .unique(new Unique("u", Duration.ofHours(1), Unique.OnConflict.REJECT))
                    .tags("vip")
                    .meta(Map.of("tenant", "acme"))
                    .trace(
                        new TraceContext(
                            "00-" + "a".repeat(32) + "-" + "b".repeat(16) + "-01", null)));
    assertTrue(made.isNew());
    Job job = client.get(made.id(), Job.Include.PAYLOAD, Job.Include.RESULT);
    assertEquals(JobState.SCHEDULED, job.state());
    assertEquals("mail", job.queue());
    assertEquals(8, job.maxAttempts());
    assertEquals(-3, job.priority());
    assertEquals(late, job.expiresAt());
    assertEquals(Duration.ofSeconds(5), job.lease());
    assertEquals(Duration.ofSeconds(60), job.timeout());
    assertEquals(new Unique("u", Duration.ofHours(1), Unique.OnConflict.REJECT), job.unique());
    assertEquals(List.of("vip"), job.tags());
    assertEquals(Map.of("tenant", "acme"), job.meta());
    assertEquals(RetryPolicy.Strategy.LIST, job.retry().strategy());
    assertEquals(new Mail("ada", 7), job.payload().as(Mail.class));
    assertEquals(Json.NULL, job.result());
    Duration delay = Duration.between(job.createdAt(), job.runAt());
    assertEquals(Duration.ofMinutes(5), delay);
    assertThrows(
        MillraceException.DuplicateJob.class,
        () ->
            client.submit(
                MAIL,
                new Mail("bob", 1),
                j -> j.unique(new Unique("u", null, Unique.OnConflict.REJECT))));
  }

  @Test
  void payloadsComeBackByteForByte() {
    String text = "{\"b\" : 1.00,  \"a\":123456789012345678901234567890}";
    String id = client.submit(NewJob.of("raw").payload(Json.of(text))).id();
    assertEquals(text, client.get(id, Job.Include.PAYLOAD).payload().text());
  }

  @Test
  void idsAndKeysMakeSubmissionsSafeToRepeat() {
    NewJob own = NewJob.of("t").id(MillraceClient.makeId("default"));
    assertTrue(client.submit(own).isNew());
    assertFalse(client.submit(own).isNew());
    assertThrows(MillraceException.IdMismatch.class, () -> client.submit(own.payload(1)));
    NewJob keyed = NewJob.of("t").idempotencyKey("order-1815");
    String first = client.submit(keyed).id();
    assertEquals(first, client.submit(keyed).id());
    MillraceException other =
        assertThrows(MillraceException.class, () -> client.submit(keyed.payload(2)));
    assertEquals("idempotency_mismatch", other.code());
  }

  @Test
  void idsCarryTheQueue() {
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < 10_000; i++) ids.add(MillraceClient.makeId("mail"));
    assertEquals(10_000, ids.size());
    UUID one = UUID.fromString(ids.iterator().next());
    assertEquals(7, one.version());
    assertEquals(2, one.variant());
    // The first 12 bits of the SHA-256 of "default" are 37a.
    long bits = UUID.fromString(MillraceClient.makeId("default")).getMostSignificantBits() & 0xfff;
    assertEquals(0x37a, bits);
  }

  @Test
  void batchesAnswerEachJob() {
    List<NewJob> jobs =
        List.of(NewJob.of("t").queue("b"), NewJob.of("t").queue("b").priority(99_999));
    List<BatchItem> items = client.submitBatch(jobs);
    assertTrue(items.get(0).isAccepted());
    assertEquals("validation_failed", items.get(1).error().code());
    assertEquals("/priority", items.get(1).error().errors().get(0).where());
    MillraceException refused =
        assertThrows(MillraceException.ValidationFailed.class, () -> client.submitAtomically(jobs));
    assertEquals("/jobs/1/priority", refused.errors().get(0).where());
    assertEquals(1, client.queue("b").counts().ready());
  }

  @Test
  void listsAllPages() {
    List<NewJob> jobs = Collections.nCopies(25, NewJob.of("listed").queue("l").tags("many"));
    for (BatchItem item : client.submitBatch(jobs)) assertTrue(item.isAccepted());
    List<String> ids = new ArrayList<>();
    JobFilter filter =
        JobFilter.all().queue("l").tag("many").state(JobState.READY, JobState.RUNNING).fresh();
    for (Job job : client.listAll(filter.limit(10))) ids.add(job.id());
    assertEquals(25, new HashSet<>(ids).size());
    assertEquals(10, client.list(filter.limit(10)).items().size());
  }

  @Test
  void cancelsRetriesAndDeletes() {
    String id = client.submit(NewJob.of("t").delay(Duration.ofHours(1))).id();
    assertEquals(JobState.CANCELLED, client.cancel(id, "not needed").state());
    assertThrows(MillraceException.InvalidState.class, () -> client.cancel(id, null));
    assertEquals(id, client.waitFor(id, Duration.ofSeconds(60)).id());
    assertEquals(JobState.READY, client.retry(id).state());
    assertThrows(
        MillraceException.WaitTimeout.class, () -> client.waitFor(id, Duration.ofMillis(50)));
    client.delete(id);
    MillraceException gone = assertThrows(MillraceException.NotFound.class, () -> client.get(id));
    assertEquals(404, gone.status());
    assertNotEquals(null, gone.requestId());
  }

  @Test
  void queuesHaveSettings() {
    Queue queue =
        client.putQueue(
            "set",
            QueueSettings.create()
                .maxAttempts(3)
                .maxReady(1L)
                .lease(Duration.ofSeconds(9))
                .retry(RetryPolicy.fixed(Duration.ofSeconds(2)))
                .keepDead(null)
                .keepSucceeded(Duration.ofHours(2)));
    assertEquals(3, queue.settings().maxAttempts());
    assertEquals(null, queue.settings().retention().dead());
    assertEquals(Duration.ofHours(2), queue.settings().retention().succeeded());
    client.submit(NewJob.of("t").queue("set"));
    MillraceClient hasty = client.withTimeout(Duration.ofMillis(200));
    MillraceException refusal;
    do { // on a slow machine the answer may come too late
      refusal =
          assertThrows(MillraceException.class, () -> hasty.submit(NewJob.of("t").queue("set")));
    } while (refusal instanceof MillraceException.Unreachable);
    assertInstanceOf(MillraceException.QueueFull.class, refusal);
    queue = client.patchQueue("set", QueueSettings.create().maxReady(null), queue.version());
    assertEquals(null, queue.settings().maxReady());
    assertEquals(3, queue.settings().maxAttempts());
    assertThrows(
        MillraceException.VersionConflict.class,
        () -> client.putQueue("set", QueueSettings.create(), 1L));
    assertTrue(client.pauseQueue("set", "closed").paused());
    assertFalse(client.resumeQueue("set").paused());
    assertThrows(MillraceException.InvalidState.class, () -> client.deleteQueue("set"));
    client.deleteQueue("set", true);
    assertTrue(client.queues().stream().noneMatch(other -> other.name().equals("set")));
  }

  @Test
  void schedulesAreKept() {
    NewJob job = NewJob.of("report.daily").queue("reports").payload(Map.of("format", "pdf"));
    ScheduleSpec spec =
        ScheduleSpec.cron("0 9 * * MON-FRI", job)
            .timezone("Europe/Zurich")
            .missed(ScheduleSpec.Missed.ALL)
            .overlap(ScheduleSpec.Overlap.SKIP)
            .missedAfter(Duration.ofSeconds(10));
    Schedule schedule = client.putSchedule("daily", spec);
    assertEquals("At 09:00 on Monday to Friday, Europe/Zurich", schedule.description());
    assertEquals(5, schedule.next().size());
    assertEquals(ScheduleSpec.Missed.ALL, schedule.missed());
    assertEquals(Schedule.State.PAUSED, client.pauseSchedule("daily", "holidays").state());
    assertEquals(Schedule.State.ACTIVE, client.resumeSchedule("daily").state());
    String triggered = client.triggerSchedule("daily").id();
    assertEquals("daily", client.get(triggered).schedule().name());
    assertEquals(triggered, client.scheduleRuns("daily").get(0).jobId());
    Instant now = Instant.now();
    client.putSchedule("hourly", ScheduleSpec.every(Duration.ofHours(1), job));
    Backfill range = Backfill.of(now.minus(Duration.ofHours(6)), now);
    assertEquals(6, client.backfillSchedule("hourly", range.dryRun()).submitted());
    SchedulePreview preview =
        client.previewSchedule(
            PreviewRequest.cron("0 18 * * 5L")
                .timezone("Europe/Zurich")
                .from(Instant.parse("2026-01-01T00:00:00Z"))
                .count(1));
    assertEquals(List.of(Instant.parse("2026-01-30T17:00:00Z")), preview.next());
    ScheduleSet set = ScheduleSet.of("billing", Map.of("invoices", spec));
    assertEquals(List.of("invoices"), client.applySchedules(set).created());
    assertEquals(List.of("invoices"), client.applySchedules(set.prune()).unchanged());
    client.deleteSchedule("invoices");
    assertEquals(2, client.schedules().size());
    assertThrows(
        MillraceException.ValidationFailed.class,
        () -> client.previewSchedule(PreviewRequest.cron("0 0 31 2 *")));
  }

  @Test
  void aJobSaysWhatItMustPass() {
    NewJob job = NewJob.of("sync").queue("limited").orderKey("account-7").fairKey("acme");
    String id = client.submit(job.orderOnFailure(OrderOnFailure.PASS)).id();
    assertEquals(
        List.of(id),
        client.list(JobFilter.all().query("order:account-7 fair:acme").fresh()).items().stream()
            .map(Job::id)
            .toList());
    assertThrows(
        MillraceException.class,
        () -> client.submit(job.limits(JobLimit.of("nowhere"), JobLimit.of("other", "k"))));
    Unique rule = new Unique("u", null, Unique.OnConflict.DEBOUNCE, Duration.ofMinutes(5));
    NewJob debounced = NewJob.of("sync").delay(Duration.ofMinutes(1)).unique(rule);
    assertEquals(client.submit(debounced).id(), client.submit(debounced).id());
  }
}
