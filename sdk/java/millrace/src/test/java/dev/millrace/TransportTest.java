package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of answers that a real server rarely gives. */
class TransportTest {
  private static final String JOB = "{\"id\":\"i\",\"state\":\"ready\"}";

  private record Scripted(int status, String retryAfter, String body) {}

  private final Queue<Scripted> script = new ArrayDeque<>();
  private final Queue<String> requests = new ConcurrentLinkedQueue<>();
  private final Set<InetSocketAddress> connections = new HashSet<>();
  private HttpServer server;
  private MillraceClient client;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    client =
        MillraceClient.builder()
            .url("http://127.0.0.1:" + server.getAddress().getPort() + "/")
            .token(" secret\r\n") // as a file has it
            .timeout(Duration.ofSeconds(30))
            .build();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private synchronized void answer(HttpExchange exchange) throws IOException {
    connections.add(exchange.getRemoteAddress());
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    requests.add(exchange.getRequestMethod() + " " + exchange.getRequestURI() + " " + body);
    String agent = "millrace-java/" + System.getProperty("millrace.version");
    assertEquals(agent, exchange.getRequestHeaders().getFirst("User-Agent"));
    assertEquals("Bearer secret", exchange.getRequestHeaders().getFirst("Authorization"));
    Scripted next = script.isEmpty() ? new Scripted(200, null, JOB) : script.remove();
    if (next.retryAfter() != null) {
      exchange.getResponseHeaders().add("Retry-After", next.retryAfter());
    }
    byte[] bytes = next.body().getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(next.status(), bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  private void answer(int status, String code) {
    script.add(new Scripted(status, null, "{\"code\":\"" + code + "\",\"status\":" + status + "}"));
  }

  @Test
  void aSubmissionIsSentAgainAsItWas() {
    answer(503, "overloaded");
    answer(429, "rate_limited");
    script.add(new Scripted(502, null, "<html>bad gateway</html>"));
    client.submit(NewJob.of("t").payload(1));
    assertEquals(4, requests.size());
    assertEquals(1, new HashSet<>(requests).size());
  }

  @Test
  void retryAfterIsHonoured() {
    script.add(new Scripted(503, "1", "{\"code\":\"draining\",\"status\":503}"));
    long begin = System.nanoTime();
    client.get("i");
    assertTrue(System.nanoTime() - begin >= 1_000_000_000L);
  }

  @Test
  void aPauseThatWouldPassTheDeadlineIsNotMade() {
    script.add(new Scripted(503, "60", "{\"code\":\"draining\",\"status\":503}"));
    MillraceException error =
        assertThrows(MillraceException.Unavailable.class, () -> client.get("i"));
    assertEquals("draining", error.code());
    assertEquals(Duration.ofSeconds(60), error.retryAfter());
    assertEquals(1, requests.size());
  }

  @Test
  void aFullQueueIsNotTriedForLong() {
    for (int i = 0; i < 9; i++) script.add(new Scripted(429, "1", "{\"code\":\"queue_full\"}"));
    assertThrows(MillraceException.QueueFull.class, () -> client.submit(NewJob.of("t")));
    assertTrue(requests.size() <= 3, requests.size() + " tries in 2 s");
    requests.clear();
    script.clear();
    answer(429, "queue_full");
    client.submit(NewJob.of("t"));
    assertEquals(2, requests.size());
  }

  @Test
  void whatMayHaveBegunIsNotRepeated() {
    script.add(new Scripted(504, null, "late"));
    MillraceException error = assertThrows(MillraceException.class, () -> client.retry("i"));
    assertEquals("bad_answer", error.code());
    assertEquals(1, requests.size());
    answer(503, "overloaded");
    client.retry("i");
    assertEquals(3, requests.size());
  }

  @Test
  void aRepeatedDeleteThatFindsNothingHasSucceeded() {
    answer(502, "bad_gateway");
    answer(404, "not_found");
    client.delete("i");
    answer(404, "not_found");
    assertThrows(MillraceException.NotFound.class, () -> client.delete("i"));
  }

  @Test
  void aRepeatedCancelThatFindsTheJobCancelledHasSucceeded() {
    answer(504, "gateway_timeout");
    answer(409, "invalid_state");
    script.add(new Scripted(200, null, "{\"id\":\"i\",\"state\":\"cancelled\"}"));
    assertEquals(JobState.CANCELLED, client.cancel("i", null).state());
    answer(409, "invalid_state");
    assertThrows(MillraceException.InvalidState.class, () -> client.cancel("i", null));
  }

  @Test
  void aRepeatedCallThatFindsItsWorkDoneHasSucceeded() {
    answer(504, "gateway_timeout");
    answer(409, "invalid_state");
    script.add(new Scripted(200, null, "{\"id\":\"i\",\"state\":\"cancelled\"}"));
    assertEquals(WorkflowState.CANCELLED, client.cancelWorkflow("i", null).state());
    answer(504, "gateway_timeout");
    answer(409, "invalid_state");
    script.add(new Scripted(200, null, "{\"number\":1,\"state\":\"skipped\"}"));
    script.add(new Scripted(200, null, "{\"id\":\"i\",\"state\":\"running\"}"));
    assertEquals(WorkflowState.RUNNING, client.skipMember("i", "a/b").state());
    assertTrue(requests.contains("GET /v1/workflows/i/members/a%2Fb "), requests.toString());
    answer(409, "invalid_state");
    assertThrows(MillraceException.InvalidState.class, () -> client.skipMember("i", "a"));
  }

  @Test
  void aRetryOfAWorkflowIsNotRepeated() {
    script.add(new Scripted(504, null, "late"));
    assertThrows(MillraceException.class, () -> client.retryWorkflow("i"));
    assertEquals(1, requests.size());
  }

  @Test
  void triggersCarryAKeyOfTheirOwn() {
    answer(502, "bad_gateway");
    client.triggerSchedule("a/b");
    assertEquals("POST /v1/schedules/a%2Fb/trigger {}", requests.peek());
    assertEquals(2, requests.size());
  }

  @Test
  void whatIsNoAnswerOfMillraceSaysSo() {
    script.add(new Scripted(200, null, "<html>"));
    MillraceException error = assertThrows(MillraceException.class, () -> client.get("i"));
    assertEquals("bad_answer", error.code());
    assertEquals(200, error.status());
  }

  @Test
  void oneConnectionIsEnough() {
    for (int i = 0; i < 100; i++) client.get("i");
    assertEquals(1, connections.size());
  }

  @Test
  void anInterruptionEndsTheCall() {
    script.add(new Scripted(503, "3", "{\"code\":\"draining\",\"status\":503}"));
    Thread.currentThread().interrupt();
    assertThrows(MillraceException.Interrupted.class, () -> client.get("i"));
    assertTrue(Thread.interrupted());
  }

  @Test
  void aServerThatIsNotThereIsUnreachable() {
    MillraceClient lonely =
        MillraceClient.create("http://127.0.0.1:" + TestServer.freePort())
            .withTimeout(Duration.ofMillis(300));
    long begin = System.nanoTime();
    MillraceException error = assertThrows(MillraceException.class, () -> lonely.get("i"));
    assertInstanceOf(MillraceException.Unreachable.class, error);
    assertTrue(System.nanoTime() - begin < 25_000_000_000L);
  }

  @Test
  void aServerThatIsSilentIsLeftAtTheDeadline() throws IOException {
    try (ServerSocket silent = new ServerSocket(0)) {
      MillraceClient patient =
          MillraceClient.create("http://127.0.0.1:" + silent.getLocalPort())
              .withTimeout(Duration.ofMillis(400));
      long begin = System.nanoTime();
      assertThrows(MillraceException.Unreachable.class, () -> patient.get("i"));
      long took = System.nanoTime() - begin;
      assertTrue(took >= 300_000_000L && took < 25_000_000_000L, took + " ns");
    }
  }
}
