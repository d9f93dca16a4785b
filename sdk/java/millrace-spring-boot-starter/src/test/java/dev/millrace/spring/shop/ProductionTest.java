package dev.millrace.spring.shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.JobState;
import dev.millrace.JobType;
import dev.millrace.MillraceClient;
import dev.millrace.MillraceException;
import dev.millrace.TestPostgres;
import dev.millrace.TestServer;
import dev.millrace.spring.JobHandler;
import dev.millrace.spring.TransactionalJobs;
import dev.millrace.spring.WorkerCustomizer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/**
 * What Spring applications have in production: transactions of a real database, health, metrics.
 */
class ProductionTest {
  record Charge(String buyer, int amount) {}

  static final JobType<Charge, Void> CHARGE =
      JobType.of("charge", Charge.class).queue("payments").maxAttempts(1);

  private static TestPostgres postgres;
  private static TestServer server;

  @SpringBootApplication
  @Import({Shop.class, Cashier.class})
  static class Application {
    final CompletableFuture<MillraceException> failure = new CompletableFuture<>();

    @Bean
    MeterRegistry registry() {
      return new SimpleMeterRegistry();
    }

    @Bean
    WorkerCustomizer told() {
      return options -> options.onFailure(failure::complete);
    }
  }

  @Component
  static class Shop {
    private final JdbcTemplate database;
    private final TransactionalJobs jobs;

    Shop(JdbcTemplate database, TransactionalJobs jobs) {
      this.database = database;
      this.jobs = jobs;
    }

    @Transactional
    public String order(String buyer, int amount, AtomicReference<String> id) {
      database.update("INSERT INTO orders (buyer, amount) VALUES (?, ?)", buyer, amount);
      id.set(jobs.submit(CHARGE, new Charge(buyer, amount)));
      if (amount > 1_000) throw new IllegalStateException("too much");
      return id.get();
    }
  }

  @Component
  static class Cashier {
    @JobHandler("charge")
    void charge(Charge charge) {
      if (charge.amount() == 0) throw new IllegalStateException("nothing to charge");
    }
  }

  @BeforeAll
  static void start() {
    postgres = new TestPostgres();
    server = new TestServer(postgres);
  }

  @AfterAll
  static void stop() {
    server.close();
    postgres.close();
  }

  private static ConfigurableApplicationContext boot(String... more) {
    return new SpringApplicationBuilder(Application.class)
        .web(WebApplicationType.NONE)
        .properties(
            "spring.main.banner-mode=off",
            "spring.datasource.url=" + postgres.jdbcUrl(),
            "millrace.url=" + server.url())
        .properties(more)
        .run();
  }

  @Test
  void anOrderAndItsChargeCommitTogether() {
    try (ConfigurableApplicationContext context =
        boot("millrace.worker.queues=payments", "millrace.worker.poll-wait=1s")) {
      JdbcTemplate database = context.getBean(JdbcTemplate.class);
      database.execute("CREATE TABLE orders (buyer text, amount integer)");
      MillraceClient client = context.getBean(MillraceClient.class);
      Shop shop = context.getBean(Shop.class);
      AtomicReference<String> id = new AtomicReference<>();

      assertThrows(IllegalStateException.class, () -> shop.order("eve", 5_000, id));
      String lost = id.get();
      String good = shop.order("ada", 30, id);
      String empty = shop.order("bob", 0, id);
      assertEquals(JobState.SUCCEEDED, TestPostgres.awaitEnd(client, good).state());
      assertEquals(JobState.DEAD, TestPostgres.awaitEnd(client, empty).state());
      assertThrows(MillraceException.NotFound.class, () -> client.get(lost));
      assertEquals(2, database.queryForObject("SELECT count(*) FROM orders", Integer.class));

      TransactionalJobs jobs = context.getBean(TransactionalJobs.class);
      assertThrows(IllegalStateException.class, () -> jobs.submit(CHARGE, new Charge("nobody", 1)));

      System.gc(); // takes what a gauge alone refers to
      MeterRegistry registry = context.getBean(MeterRegistry.class);
      assertEquals(1, timed(registry, "succeeded"));
      assertEquals(1, timed(registry, "failed"));
      assertEquals(1, registry.get("millrace.worker.up").gauge().value());
      assertEquals(0, registry.get("millrace.worker.running").gauge().value());
      assertEquals(Status.UP, health(context).getStatus());
    }
  }

  private static long timed(MeterRegistry registry, String outcome) {
    return registry
        .get("millrace.handler")
        .tags("type", "charge", "queue", "payments", "outcome", outcome)
        .timer()
        .count();
  }

  private static Health health(ConfigurableApplicationContext context) {
    return context.getBean("millraceHealthIndicator", HealthIndicator.class).health();
  }

  @Test
  void aWorkerThatHasEndedByAnErrorIsDown() throws Exception {
    try (ConfigurableApplicationContext context = boot("millrace.worker.queues=no such name!")) {
      MillraceException failure =
          context.getBean(Application.class).failure.get(60, TimeUnit.SECONDS);
      assertEquals("validation_failed", failure.code());
      Health health = health(context);
      assertEquals(Status.DOWN, health.getStatus());
      assertTrue(health.getDetails().get("error").toString().contains("queues"), "" + health);
      assertEquals(
          0, context.getBean(MeterRegistry.class).get("millrace.worker.up").gauge().value());
    }
  }

  @Test
  void anApplicationWithoutAWorkerAsksTheServer() {
    try (ConfigurableApplicationContext context = boot("millrace.worker.enabled=false")) {
      assertEquals(Status.UP, health(context).getStatus());
    }
    try (ConfigurableApplicationContext context =
        boot("millrace.worker.enabled=false", "millrace.url=http://127.0.0.1:1")) {
      assertEquals(Status.DOWN, health(context).getStatus());
    }
  }
}
