package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

class WorkerTest {
  record Sum(int a, int b) {}

  private static final Duration GRACE = Duration.ofSeconds(2);
  private static final Duration SOON = Duration.ofSeconds(60);
  private static TestServer server;
  private static MillraceClient client;

  private final List<Worker> workers = new ArrayList<>();
  private String queue;

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
  }

  @AfterEach
  void stopWorkers() {
    for (Worker worker : workers) worker.stop();
  }

  private Worker worker() {
    return worker(4);
  }

  private Worker worker(int concurrency) {
    Worker worker =
        client.worker(
            o ->
                o.queues(queue)
                    .concurrency(concurrency)
                    .pollWait(Duration.ofSeconds(2))
                    .grace(GRACE));
    workers.add(worker);
    return worker;
  }

  private <P> JobType<P, Object> type(String name, Class<P> payload) {
    return JobType.of(name, payload, Object.class)
        .queue(queue)
        .retry(RetryPolicy.fixed(Duration.ZERO))
        .maxAttempts(3);
  }

  private Job end(Submitted submitted) {
    return client.waitFor(submitted.id(), SOON);
  }

  @Test
  void aValueIsTheResult() {
    JobType<Sum, Object> sum = type("sum", Sum.class);
    Submitted job = client.submit(sum, new Sum(2, 3));
    worker().handle(sum, (payload, ctx) -> Map.of("sum", payload.a() + payload.b())).start();
    Job ended = end(job);
    assertEquals(JobState.SUCCEEDED, ended.state());
    assertEquals("{\"sum\":5}", ended.result().text());
  }

  @Test
  void aClaimNamesTheVersionOfTheProgram() {
    WorkerOptions options = new WorkerOptions();
    assertEquals("of the environment", options.versionOr("of the environment"));
    assertNull(options.versionOr(null));
    assertEquals("2.4.1", options.version("2.4.1").versionOr("of the environment"));
    String claim =
        new PollWriter(options, List.of("t"), "host", 1)
            .poll(List.of(), List.of(), List.of(), 1, 0);
    String worker = "{\"host\":\"host\",\"pid\":1,\"sdk\":\"java\",\"version\":\"2.4.1\"}";
    assertTrue(claim.contains("\"worker\":" + worker), claim);
  }

  @Test
  void anErrorIsAFailureThatIsRetried() {
    JobType<String, Object> flaky = type("flaky", String.class);
    Submitted job = client.submit(flaky, "x");
    worker()
        .consume(
            flaky,
            (payload, ctx) -> {
              if (ctx.job().attempt() < 3) throw new IllegalStateException("no luck");
            })
        .start();
    assertEquals(JobState.SUCCEEDED, end(job).state());
    Job ended = client.get(job.id(), Job.Include.ATTEMPTS);
    assertEquals(3, ended.attempts().size());
    JobError error = ended.attempts().get(0).error();
    assertEquals("java.lang.IllegalStateException", error.type());
    assertEquals("no luck", error.message());
    assertTrue(error.stack().contains("WorkerTest"));
  }

  @Test
  void eachFailedAttemptIsLogged() {
    JobType<String, Object> broken = type("broken", String.class).maxAttempts(2);
    List<LogRecord> records = Collections.synchronizedList(new ArrayList<>());
    java.util.logging.Handler keeps =
        new java.util.logging.Handler() {
          @Override
          public void publish(LogRecord line) {
            if (line.getMessage().contains("(broken)")) records.add(line);
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger logger = Logger.getLogger("dev.millrace");
    logger.addHandler(keeps);
    try {
      Submitted job = client.submit(broken, "x");
      worker()
          .consume(
              broken,
              (payload, ctx) -> {
                throw new IllegalStateException("no luck");
              })
          .start();
      assertEquals(JobState.DEAD, end(job).state());
      String error = "failed: java.lang.IllegalStateException: no luck; ";
      String head = "job " + job.id() + " (broken): attempt ";
      assertEquals(
          List.of(
              head + "1 of 2 " + error + "the server tries it again",
              head + "2 of 2 " + error + "the job is dead"),
          records.stream().map(LogRecord::getMessage).toList());
      assertEquals("no luck", records.get(0).getThrown().getMessage());
    } finally {
      logger.removeHandler(keeps);
    }
  }

  @Test
  void exceptionsChooseOutcomes() {
    JobType<String, Object> chosen = type("chosen", String.class);
    Submitted dead = client.submit(chosen, "dead");
    Submitted snoozed = client.submit(chosen, "snooze");
    Submitted later = client.submit(chosen, "later");
    Submitted cancelled = client.submit(chosen, "cancel");
    Submitted outcome = client.submit(chosen, "outcome");
    AtomicInteger snoozes = new AtomicInteger();
    worker()
        .handle(
            chosen,
            (payload, ctx) ->
                switch (payload) {
                  case "dead" -> throw new NonRetryable("bad address");
                  case "snooze" -> {
                    if (snoozes.getAndIncrement() == 0) throw new Snooze(Duration.ofMillis(50));
                    yield ctx.job().attempt();
                  }
                  case "later" -> {
                    if (ctx.job().attempt() > 1) yield "now";
                    throw new RetryAfter(Duration.ofMillis(50), "busy");
                  }
                  case "cancel" -> throw new Cancel("closed");
                  default -> Outcome.dead("no");
                })
        .start();
    assertEquals(JobState.DEAD, end(dead).state());
    assertEquals("bad address", end(dead).lastError().message());
    assertEquals("1", end(snoozed).result().text());
    assertEquals("\"now\"", end(later).result().text());
    assertEquals(JobState.CANCELLED, end(cancelled).state());
    assertEquals("closed", client.logs(cancelled.id()).get(0).message());
    assertEquals(JobState.DEAD, end(outcome).state());
  }

  @Test
  void aResultThatIsNoJsonIsRefused() {
    JobType<Void, Object> bad = type("bad", Void.class).maxAttempts(1);
    Submitted job = client.submit(bad, null);
    worker().handle(bad, (payload, ctx) -> Double.NaN).start();
    assertEquals("outcome_refused", end(job).lastError().type());
  }

  @Test
  void cancellationInterruptsTheHandler() throws Exception {
    JobType<Void, Object> slow = type("slow", Void.class);
    Submitted job = client.submit(slow, null);
    LinkedBlockingQueue<Object> seen = new LinkedBlockingQueue<>();
    worker()
        .consume(
            slow,
            (payload, ctx) -> {
              ctx.stopToken().onStop(seen::add);
              seen.add("started");
              Thread.sleep(60_000);
            })
        .start();
    assertEquals("started", seen.poll(60, TimeUnit.SECONDS));
    client.cancel(job.id(), null);
    assertEquals(StopReason.CANCELLED, seen.poll(60, TimeUnit.SECONDS));
    assertEquals(JobState.CANCELLED, end(job).state());
  }

  @Test
  void theTimeoutIsTold() {
    JobType<Void, Object> slow =
        type("slow", Void.class).timeout(Duration.ofSeconds(5)).maxAttempts(1);
    Submitted job = client.submit(slow, null);
    LinkedBlockingQueue<StopReason> seen = new LinkedBlockingQueue<>();
    worker()
        .consume(
            slow,
            (payload, ctx) -> {
              try {
                Thread.sleep(60_000);
              } finally {
                seen.add(ctx.stopReason());
              }
            })
        .start();
    assertEquals("timeout", end(job).lastError().type());
    assertEquals(StopReason.TIMEOUT, take(seen));
  }

  @Test
  void heartbeatsOutlastTheLease() {
    JobType<Void, Object> slow =
        type("slow", Void.class).with(job -> job.lease(Duration.ofSeconds(5)));
    Submitted job = client.submit(slow, null);
    worker()
        .handle(
            slow,
            (payload, ctx) -> {
              ctx.progress(50, "half");
              Thread.sleep(6_500);
              return ctx.stopReason();
            })
        .start();
    Job ended = end(job);
    assertEquals(JobState.SUCCEEDED, ended.state());
    assertEquals(1, ended.attempt());
    assertEquals("half", ended.progress().message());
  }

  @Test
  void aCheckpointReachesTheNextAttempt() {
    JobType<Void, Object> steps = type("steps", Void.class);
    Submitted job = client.submit(steps, null);
    worker()
        .handle(
            steps,
            (payload, ctx) -> {
              if (ctx.job().checkpoint() != null) return ctx.job().checkpoint().as(Sum.class).b();
              ctx.progress(10.0, null, new Sum(1, 2));
              throw new IllegalStateException("after the checkpoint");
            })
        .start();
    assertEquals("2", end(job).result().text());
  }

  @Test
  void whatTheThreadLogsIsKept() {
    JobType<Void, Object> chatty = type("chatty", Void.class);
    Submitted job = client.submit(chatty, null);
    worker()
        .consume(
            chatty,
            (payload, ctx) -> {
              Logger.getLogger("shop").warning("by java.util.logging");
              System.getLogger("shop").log(Level.INFO, "by System.Logger {0}", 1);
              ctx.log(LogLevel.ERROR, "by the context");
            })
        .start();
    end(job);
    List<LogLine> lines = client.logs(job.id());
    assertEquals(
        List.of("by java.util.logging", "by System.Logger 1", "by the context"),
        lines.stream().map(LogLine::message).toList());
    assertEquals(
        List.of(LogLevel.WARN, LogLevel.INFO, LogLevel.ERROR),
        lines.stream().map(LogLine::level).toList());
  }

  @Test
  void enqueuedJobsComeWithSuccessOnly() {
    JobType<Boolean, Object> first = type("first", Boolean.class).maxAttempts(1);
    JobType<String, Object> second = type("second", String.class);
    LinkedBlockingQueue<String> seen = new LinkedBlockingQueue<>();
    worker()
        .consume(
            first,
            (succeeds, ctx) -> {
              ctx.enqueue(second.job("after " + succeeds));
              if (!succeeds) throw new IllegalStateException("no");
            })
        .consume(second, (payload, ctx) -> seen.add(payload))
        .start();
    end(client.submit(first, false));
    end(client.submit(first, true));
    assertEquals("after true", take(seen));
  }

  @Test
  void submissionsInAHandlerBelongToItsTrace() {
    String trace = "00-" + "a".repeat(32) + "-" + "b".repeat(16) + "-01";
    JobType<Void, Object> outer = type("outer", Void.class);
    JobType<Void, Object> inner = type("inner", Void.class);
    Submitted job = client.submit(outer, null, each -> each.trace(new TraceContext(trace, "k=v")));
    worker().handle(outer, (payload, ctx) -> client.submit(inner, null).id()).start();
    String id = end(job).result().as(String.class);
    assertEquals(trace, client.get(id).traceparent());
  }

  @Test
  void middlewareWrapsHandlers() {
    JobType<Integer, Object> number = type("number", Integer.class);
    Submitted job = client.submit(number, 20);
    worker()
        .middleware((ctx, next) -> (Integer) next.call() + 1)
        .middleware((ctx, next) -> (Integer) next.call() * 2)
        .handle(number, (payload, ctx) -> payload)
        .start();
    assertEquals("41", end(job).result().text());
  }

  @Test
  void aStopGivesBackWhatStillRuns() {
    JobType<Void, Object> slow = type("slow", Void.class);
    Submitted polite = client.submit(slow, null);
    Submitted stubborn = client.submit(slow, null);
    CountDownLatch started = new CountDownLatch(2);
    AtomicBoolean hasStopped = new AtomicBoolean();
    LinkedBlockingQueue<StopReason> seen = new LinkedBlockingQueue<>();
    Worker worker =
        worker()
            .consume(
                slow,
                (payload, ctx) -> {
                  started.countDown();
                  if (ctx.job().id().equals(stubborn.id())) spin(hasStopped);
                  try {
                    Thread.sleep(60_000);
                  } finally {
                    assertTrue(ctx.isStopping());
                    seen.add(ctx.stopReason());
                  }
                });
    worker.start();
    await(started);
    worker.stop();
    assertFalse(worker.isRunning());
    assertEquals(StopReason.STOPPING, take(seen));
    for (Submitted job : List.of(polite, stubborn)) {
      Job released = client.get(job.id());
      assertEquals(JobState.READY, released.state());
      assertEquals(0, released.attempt());
    }
    hasStopped.set(true);
  }

  private static void spin(AtomicBoolean until) {
    long end = System.nanoTime() + SOON.toNanos();
    while (!until.get() && System.nanoTime() < end) Thread.onSpinWait();
  }

  @Test
  void concurrencyIsTheBound() {
    JobType<Void, Object> counted = type("counted", Void.class);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    List<Submitted> jobs = new ArrayList<>();
    for (int i = 0; i < 20; i++) jobs.add(client.submit(counted, null));
    worker(3)
        .consume(
            counted,
            (payload, ctx) -> {
              most.accumulateAndGet(running.incrementAndGet(), Math::max);
              Thread.sleep(20);
              running.decrementAndGet();
            })
        .start();
    for (Submitted job : jobs) assertEquals(JobState.SUCCEEDED, end(job).state());
    assertEquals(3, most.get());
  }

  @Test
  void aWrongTokenEndsTheWorker() {
    Worker worker = client.worker(o -> o.queues("not a name"));
    worker.handlers(new Handlers().consume(type("t", Void.class), (payload, ctx) -> {}));
    MillraceException error = assertThrows(MillraceException.ValidationFailed.class, worker::run);
    assertEquals("validation_failed", error.code());
    assertThrows(IllegalStateException.class, worker::start);
    assertThrows(IllegalStateException.class, () -> client.worker(o -> {}).start());
  }

  @Test
  void aServerThatComesBackFindsTheWorker() {
    try (TestServer own = new TestServer()) {
      MillraceClient there = MillraceClient.create(own.url());
      JobType<Void, Object> type = type("t", Void.class);
      Worker worker = there.worker(o -> o.queues(queue).pollWait(Duration.ofSeconds(1)));
      worker.handle(type, (payload, ctx) -> 1).start();
      assertEquals("1", there.waitFor(there.submit(type, null).id(), SOON).result().text());
      own.kill();
      own.start();
      assertEquals("1", there.waitFor(there.submit(type, null).id(), SOON).result().text());
      worker.stop();
    }
  }

  @Test
  void everyJobOfManyEndsOnce() {
    int count = 5_000;
    JobType<Integer, Object> number = type("number", Integer.class);
    List<Integer> seen = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch ended = new CountDownLatch(count);
    List<NewJob> batch = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      batch.add(number.job(i));
      if (batch.size() == 1_000) {
        client.submitBatch(batch);
        batch.clear();
      }
    }
    Worker worker = worker(64);
    worker.consume(
        number,
        (payload, ctx) -> {
          seen.add(payload);
          ended.countDown();
        });
    worker.start();
    await(ended);
    worker.stop();
    assertEquals(count, seen.stream().distinct().count());
    assertEquals(count, client.queue(queue).counts().succeeded());
    assertNull(JobContext.current());
  }

  private static <T> T take(LinkedBlockingQueue<T> from) {
    try {
      return from.poll(SOON.toSeconds(), TimeUnit.SECONDS);
    } catch (InterruptedException told) {
      throw new AssertionError(told);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException told) {
      throw new AssertionError(told);
    }
  }
}
