package dev.millrace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Jobs in transactions of a real PostgreSQL, by its driver. */
class SubmitTxTest {
  record Charge(String buyer, int amount) {}

  private static final JobType<Charge, Integer> CHARGE =
      JobType.of("charge", Charge.class, Integer.class).queue("payments").maxAttempts(7);

  private static TestPostgres postgres;
  private static TestServer server;
  private static MillraceClient client;

  @BeforeAll
  static void start() {
    postgres = new TestPostgres();
    server = new TestServer(postgres);
    client = MillraceClient.create(server.url());
  }

  @AfterAll
  static void stop() {
    server.close();
    postgres.close();
  }

  private static Connection begin() throws SQLException {
    Connection connection = DriverManager.getConnection(postgres.jdbcUrl());
    connection.setAutoCommit(false);
    return connection;
  }

  @Test
  void aJobIsThereIfAndOnlyIfTheTransactionCommits() throws SQLException {
    Worker worker =
        client
            .worker(o -> o.queues("payments"))
            .handle(CHARGE, (charge, ctx) -> charge.amount() + 1);
    try (Connection connection = begin()) {
      String lost = client.submitTx(connection, CHARGE, new Charge("eve", 1));
      connection.rollback();
      String id = client.submitTx(connection, CHARGE, new Charge("ada", 30));
      connection.commit();
      worker.start();
      Job done = TestPostgres.awaitEnd(client, id);
      assertEquals(31, CHARGE.resultOf(done));
      assertEquals(7, done.maxAttempts());
      assertThrows(MillraceException.NotFound.class, () -> client.get(lost));
    } finally {
      worker.stop();
    }
  }

  @Test
  void allMembersArrive() throws SQLException, InterruptedException {
    Instant late = Instant.parse("2031-01-01T00:00:00Z");
    client.putLimit("provider", LimitSettings.create().concurrency(3));
    NewJob job =
        NewJob.of("all")
            .queue("members")
            .payload(List.of(1, "two"))
            .priority(-3)
            .delay(Duration.ofHours(1))
            .expiresAt(late)
            .lease(Duration.ofMillis(5_500))
            .timeout(Duration.ofSeconds(60))
            .retry(RetryPolicy.list(Duration.ofSeconds(1), Duration.ofSeconds(9)))
            .unique(new Unique("u", Duration.ofHours(2), Unique.OnConflict.REJECT))
            .tags("vip", "new")
            .meta(Map.of("tenant", "acme"))
            .limits(JobLimit.of("provider"))
            .orderKey("account-7")
            .orderOnFailure(OrderOnFailure.PASS)
            .fairKey("ada")
            .trace(new TraceContext("00-" + "a".repeat(32) + "-" + "b".repeat(16) + "-01", "v=1"));
    String id;
    try (Connection connection = begin()) {
      id = client.submitTx(connection, job);
      connection.commit();
    }
    Job stored = null;
    while (stored == null) stored = found(id);
    assertEquals("[1, \"two\"]", stored.payload().text()); // as PostgreSQL writes it
    assertEquals(-3, stored.priority());
    assertEquals(late, stored.expiresAt());
    assertEquals(Duration.ofMillis(5_500), stored.lease());
    assertEquals(Duration.ofSeconds(60), stored.timeout());
    assertEquals(List.of(Duration.ofSeconds(1), Duration.ofSeconds(9)), stored.retry().delays());
    assertEquals(new Unique("u", Duration.ofHours(2), Unique.OnConflict.REJECT), stored.unique());
    assertEquals(List.of("vip", "new"), stored.tags());
    assertEquals(Map.of("tenant", "acme"), stored.meta());
    assertEquals("provider", stored.limits().get(0).name());
    assertEquals("account-7", stored.orderKey());
    assertEquals(OrderOnFailure.PASS, stored.orderOnFailure());
    assertEquals("ada", stored.fairKey());
    assertEquals(JobState.SCHEDULED, stored.state());
    assertTrue(stored.traceparent().startsWith("00-aaa"));
  }

  private static Job found(String id) throws InterruptedException {
    try {
      return client.get(id, Job.Include.PAYLOAD);
    } catch (MillraceException.NotFound notYet) {
      Thread.sleep(20);
      return null;
    }
  }

  @Test
  void whatTheDatabaseRefusesIsSaid() throws SQLException {
    try (Connection connection = begin()) {
      NewJob bad = NewJob.of("t").priority(99_999);
      SQLException refused =
          assertThrows(SQLException.class, () -> client.submitTx(connection, bad));
      assertEquals("22023", refused.getSQLState());
      assertTrue(refused.getMessage().contains("priority"), refused.getMessage());
    }
  }

  @Test
  void aConnectionThatCommitsByItselfIsRefused() throws SQLException {
    try (Connection connection = DriverManager.getConnection(postgres.jdbcUrl())) {
      assertThrows(
          IllegalStateException.class, () -> client.submitTx(connection, NewJob.of("auto")));
    }
  }
}
