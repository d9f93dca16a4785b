package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class FakeTest {
  record Order(String item, int quantity) {}

  private static final JobType<Order, Object> ORDER =
      JobType.of("order", Order.class, Object.class).queue("shop");
  private static final JobType<String, Object> MAIL =
      JobType.of("mail", String.class, Object.class).maxAttempts(2);

  private final List<String> sent = new ArrayList<>();
  private final Handlers handlers =
      new Handlers()
          .handle(
              ORDER,
              (order, ctx) -> {
                ctx.enqueue(MAIL.job("thanks for " + order.item()));
                return order.quantity();
              })
          .consume(
              MAIL,
              (text, ctx) -> {
                sent.add(text);
                if (text.startsWith("bad")) throw new IllegalStateException("no address");
              });

  @Test
  void jobsWaitForDrain() {
    Fake jobs = Fake.drained(handlers);
    String id = jobs.submit(ORDER, new Order("book", 2)).id();
    assertEquals(JobState.READY, jobs.get(id).state());
    assertEquals(List.of(new Order("book", 2)), jobs.enqueued(ORDER));
    assertEquals(2, jobs.drain());
    assertEquals("2", jobs.get(id, Job.Include.RESULT).result().text());
    assertEquals(List.of("thanks for book"), sent);
    assertEquals(1, jobs.enqueued("mail").size());
  }

  @Test
  void jobsRunWithinTheirSubmission() {
    Fake jobs = Fake.inline(handlers);
    assertEquals(JobState.SUCCEEDED, jobs.submit(MAIL, "hello").job().state());
    jobs.submit(MAIL, "later", job -> job.delay(Duration.ofMinutes(1)));
    assertEquals(List.of("hello"), sent);
    jobs.advance(Duration.ofMinutes(1));
    assertEquals(1, jobs.drain());
  }

  @Test
  void retriesFollowTheClock() {
    Fake jobs = Fake.drained(handlers);
    String id = jobs.submit(MAIL, "bad").id();
    assertEquals(1, jobs.drain());
    assertEquals(JobState.RETRYING, jobs.get(id).state());
    assertEquals(Fake.START.plusSeconds(5), jobs.get(id).runAt());
    jobs.advance(Duration.ofMillis(4_999));
    assertEquals(0, jobs.drain());
    jobs.advance(Duration.ofMillis(1));
    assertEquals(1, jobs.drain());
    assertEquals(JobState.DEAD, jobs.get(id).state());
    assertEquals("no address", jobs.get(id).lastError().message());
    assertEquals(2, jobs.retry(id).generation());
  }

  @Test
  void anAtomicBatchIsAllOrNone() {
    Fake jobs = Fake.drained(handlers);
    List<NewJob> batch = List.of(MAIL.job("a"), MAIL.job("b").priority(99_999));
    MillraceException refused =
        assertThrows(MillraceException.ValidationFailed.class, () -> jobs.submitAtomically(batch));
    assertEquals("/jobs/1/priority", refused.errors().get(0).where());
    assertTrue(jobs.list(JobFilter.all()).items().isEmpty());
    assertEquals(422, jobs.submitBatch(batch).get(1).status());
  }

  @Test
  void pagesFollowEachOther() {
    Fake jobs = Fake.drained(handlers);
    List<String> submitted = new ArrayList<>();
    for (int i = 0; i < 7; i++) submitted.add(0, jobs.submit(MAIL, "m" + i).id());
    List<String> listed = new ArrayList<>();
    for (Job job : jobs.listAll(JobFilter.all().limit(3))) listed.add(job.id());
    assertEquals(submitted, listed);
  }

  @Test
  void whatAnApplicationDeclaresAtItsStartIsKept() {
    Fake jobs = Fake.drained(handlers);
    jobs.putQueue("shop", QueueSettings.create().maxAttempts(3).maxReady(2L));
    jobs.putLimit("provider", LimitSettings.create().concurrency(4));
    ScheduleSpec daily = ScheduleSpec.cron("0 9 * * *", ORDER.job(new Order("paper", 1)));
    ScheduleSet set = ScheduleSet.of("shop", Map.of("daily", daily));
    assertEquals(List.of("daily"), jobs.applySchedules(set).created());
    assertEquals(List.of("daily"), jobs.applySchedules(set).unchanged());
    assertEquals(4, jobs.limit("provider").concurrency());
    assertEquals("0 9 * * *", jobs.schedule("daily").cron());

    String id = jobs.triggerSchedule("daily").id();
    assertEquals("daily", jobs.get(id).schedule().name());
    assertEquals(3, jobs.get(id).maxAttempts());
    jobs.submit(ORDER, new Order("ink", 1));
    assertEquals(2, jobs.queue("shop").counts().ready());
    assertThrows(MillraceException.QueueFull.class, () -> jobs.submit(ORDER, new Order("pen", 1)));
    assertEquals(4, jobs.drain()); // each order submits a mail
    assertThrows(MillraceException.NotFound.class, () -> jobs.schedule("weekly"));
    assertEquals(
        List.of("daily"), jobs.applySchedules(ScheduleSet.of("shop", Map.of()).prune()).deleted());
  }

  @Test
  void resultsAreTyped() {
    JobType<Integer, Order> buy = JobType.of("buy", Integer.class, Order.class);
    Fake jobs = Fake.inline(new Handlers().handle(buy, (n, ctx) -> new Order("book", n)));
    String id = jobs.submit(buy, 2).id();
    assertEquals(new Order("book", 2), buy.resultOf(jobs.get(id, Job.Include.RESULT)));
  }

  @Test
  void aResultThatWasNotAskedForIsNoResult() {
    JobType<Integer, Order> buy = JobType.of("buy", Integer.class, Order.class);
    Fake jobs = Fake.drained(new Handlers().handle(buy, (n, ctx) -> new Order("book", n)));
    String id = jobs.submit(buy, 2).id();
    assertNull(buy.resultOf(jobs.get(id, Job.Include.RESULT))); // it has none yet
    Exception refused =
        assertThrows(IllegalArgumentException.class, () -> buy.resultOf(jobs.get(id)));
    assertTrue(refused.getMessage().contains("get(id, Job.Include.RESULT)"), refused.getMessage());
  }
}
