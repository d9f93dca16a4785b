package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

/** What fails while a handler's end is reported costs neither the slot nor the worker. */
class IndescribableTest {
  /** An error of which every method fails. */
  static class Indescribable extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new IllegalStateException("no text");
    }

    @Override
    public String toString() {
      throw new IllegalStateException("no text");
    }

    @Override
    public synchronized Throwable getCause() {
      throw new IllegalStateException("no cause");
    }
  }

  /** A value that fails when the codec reads it. */
  record Broken(int number) {
    @Override
    public int number() {
      throw new Indescribable();
    }
  }

  private static final Duration SOON = Duration.ofSeconds(60);
  private static TestServer server;
  private static MillraceClient client;

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

  private JobType<String, Object> type() {
    return JobType.of("t", String.class, Object.class).queue(queue).maxAttempts(1);
  }

  /** Runs a job that goes wrong and then a good one, in the worker's only slot. */
  private JobError errorOf(Handler<String, Object> handler) {
    Worker worker =
        client
            .worker(o -> o.queues(queue).concurrency(1))
            .handle(type(), (text, ctx) -> text.equals("good") ? 1 : handler.handle(text, ctx));
    worker.start();
    try {
      Job bad = client.waitFor(client.submit(type(), "bad").id(), SOON);
      assertEquals(JobState.DEAD, bad.state());
      Job good = client.waitFor(client.submit(type(), "good").id(), SOON);
      assertEquals(JobState.SUCCEEDED, good.state());
      assertNull(worker.failure());
      return bad.lastError();
    } finally {
      worker.stop();
    }
  }

  @Test
  void anErrorThatCannotBeDescribedIsReported() {
    JobError error =
        errorOf(
            (text, ctx) -> {
              throw new Indescribable();
            });
    assertEquals(Indescribable.class.getName(), error.type());
    assertEquals(
        "the error can't be described: its getMessage threw java.lang.IllegalStateException",
        error.message());
    assertTrue(error.stack().contains("IndescribableTest"), error.stack());
  }

  @Test
  void aResultThatCannotBeReadIsReported() {
    JobError error = errorOf((text, ctx) -> new Broken(1));
    assertEquals("outcome_refused", error.type());
  }

  @Test
  void halfASurrogateIsNoText() {
    JobError error =
        errorOf(
            (text, ctx) -> {
              ctx.log(LogLevel.INFO, "line \ud83d");
              throw new IllegalStateException("before \ud83d after \ud83d\ude00");
            });
    assertEquals("before \ufffd after \ud83d\ude00", error.message());
  }

  @Test
  void progressThatIsNoNumberIsLeftOut() {
    JobError error =
        errorOf(
            (text, ctx) -> {
              ctx.progress(Double.NaN, "x".repeat(2_000));
              ctx.progress(Double.POSITIVE_INFINITY);
              throw new IllegalStateException("the end");
            });
    assertEquals("the end", error.message());
  }

  @Test
  void anExecutorThatTakesNothingFailsTheAttempt() {
    AtomicInteger tasks = new AtomicInteger();
    Executor executor =
        task -> {
          if (tasks.getAndIncrement() == 0) throw new RejectedExecutionException("shut down");
          new Thread(task).start();
        };
    Worker worker =
        client
            .worker(o -> o.queues(queue).concurrency(1).executor(executor))
            .handle(type(), (text, ctx) -> 1);
    worker.start();
    Job bad = client.waitFor(client.submit(type(), "bad").id(), SOON);
    assertEquals("shut down", bad.lastError().message());
    Job good = client.waitFor(client.submit(type(), "good").id(), SOON);
    assertEquals(JobState.SUCCEEDED, good.state());
    worker.stop();
  }

  @Test
  void aWorkerThatEndsByAnErrorCallsBack() throws Exception {
    CompletableFuture<MillraceException> told = new CompletableFuture<>();
    Worker worker =
        client
            .worker(o -> o.queues("no such name!").onFailure(told::complete))
            .handle(type(), (text, ctx) -> 1);
    worker.start();
    assertEquals("validation_failed", told.get(60, TimeUnit.SECONDS).code());
    assertEquals(told.get(), worker.failure());
    assertThrows(MillraceException.ValidationFailed.class, worker::await);
    assertFalse(worker.isRunning());
  }

  @Test
  void anErrorWithinTheWorkerTellsItsHandlers() throws Exception {
    CountDownLatch runs = new CountDownLatch(1);
    CompletableFuture<StopReason> told = new CompletableFuture<>();
    CompletableFuture<MillraceException> failure = new CompletableFuture<>();
    Worker worker =
        client
            .worker(o -> o.queues(queue).grace(null).onFailure(failure::complete))
            .handle(
                type(),
                (text, ctx) -> {
                  ctx.stopToken().onStop(told::complete);
                  runs.countDown();
                  ctx.stopToken().await(SOON);
                  return null;
                });
    worker.start();
    client.submit(type(), "x");
    assertTrue(runs.await(60, TimeUnit.SECONDS));
    worker.requestStop(); // the grace time is missing, which is found only now
    assertEquals("internal", failure.get(60, TimeUnit.SECONDS).code());
    assertEquals(StopReason.LEASE_LOST, told.get(60, TimeUnit.SECONDS));
  }

  @Test
  void aTokenThatCanBeNoneIsNotShown() {
    for (String token : new String[] {"to\nken", "tok\u0000en", "tok en", "t\u00f6ken"}) {
      ClientBuilder builder = MillraceClient.builder().url(server.url()).token(token);
      String fault = assertThrows(IllegalArgumentException.class, builder::build).getMessage();
      assertTrue(fault.startsWith("the token has a character at position "), fault);
    }
    ClientBuilder nowhere = MillraceClient.builder().url("127.0.0.1:7600");
    assertThrows(IllegalArgumentException.class, nowhere::build);
  }
}
