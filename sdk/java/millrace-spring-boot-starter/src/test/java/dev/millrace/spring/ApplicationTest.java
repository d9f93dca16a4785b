package dev.millrace.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.Fake;
import dev.millrace.Handlers;
import dev.millrace.Job;
import dev.millrace.JobContext;
import dev.millrace.JobState;
import dev.millrace.JobType;
import dev.millrace.LogLevel;
import dev.millrace.Middleware;
import dev.millrace.MillraceClient;
import dev.millrace.TestServer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Component;

/** A real application, on a real server. */
class ApplicationTest {
  record Mail(String to) {}

  // The test of transactions brings a driver, and Spring would look for a database.
  private static final String DATABASE =
      "org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration";

  static final JobType<Mail, Void> MAIL = JobType.of("mail.send", Mail.class).queue("mail");
  static final JobType<Void, Void> SLOW = JobType.of("slow", Void.class).queue("mail");

  // Spring's scan ignores classes nested in a test class.
  @SpringBootApplication
  @Import(Mailer.class)
  static class Application {
    @Bean
    Middleware shouting() {
      return (ctx, next) -> ctx.job().type().equals("mail.send") ? next.call() + "!" : next.call();
    }
  }

  @Component
  static class Mailer {
    final CountDownLatch started = new CountDownLatch(1);
    final CountDownLatch ended = new CountDownLatch(1);

    // The client exists before its handlers are requested.
    Mailer(MillraceClient client) {}

    @JobHandler("mail.send")
    String send(Mail mail, JobContext ctx) {
      LoggerFactory.getLogger(Mailer.class).warn("sending to {}", mail.to());
      return mail.to() + " " + ctx.job().attempt();
    }

    @JobHandler("slow")
    void slow() throws InterruptedException {
      started.countDown();
      Thread.sleep(1_000);
      ended.countDown();
    }

    @JobHandler("broken")
    void broken(JobContext ctx) {
      throw new IllegalStateException("broken on purpose");
    }
  }

  private static ConfigurableApplicationContext boot(String... properties) {
    return new SpringApplicationBuilder(Application.class)
        .web(WebApplicationType.NONE)
        .properties("spring.main.banner-mode=off", "spring.autoconfigure.exclude=" + DATABASE)
        .properties(properties)
        .run();
  }

  @Test
  void methodsHandleJobsAndEndGracefully() throws Exception {
    try (TestServer server = new TestServer()) {
      ConfigurableApplicationContext context =
          boot(
              "millrace.url=" + server.url(),
              "millrace.worker.queues=mail",
              "millrace.worker.concurrency=3",
              "millrace.worker.poll-wait=1s",
              "millrace.worker.id=shop-1");
      MillraceClient client = context.getBean(MillraceClient.class);
      assertEquals("shop-1", context.getBean(WorkerLifecycle.class).worker().id());

      String id = client.submit(MAIL, new Mail("ada")).id();
      Job ended = client.waitFor(id, Duration.ofSeconds(60));
      assertEquals("\"ada 1!\"", ended.result().text());
      assertEquals("sending to ada", client.logs(id).get(0).message());
      assertEquals(LogLevel.WARN, client.logs(id).get(0).level());

      JobType<Void, Void> broken = JobType.of("broken", Void.class).queue("mail").maxAttempts(1);
      Job dead = client.waitFor(client.submit(broken, null).id(), Duration.ofSeconds(60));
      assertEquals("java.lang.IllegalStateException", dead.lastError().type());
      assertEquals("broken on purpose", dead.lastError().message());

      Mailer mailer = context.getBean(Mailer.class);
      String slow = client.submit(SLOW, null).id();
      assertTrue(mailer.started.await(60, TimeUnit.SECONDS));
      context.close();
      assertEquals(0, mailer.ended.getCount());
      assertEquals(JobState.SUCCEEDED, client.get(slow).state());
    }
  }

  @Test
  void handlersRunInAFake() {
    try (ConfigurableApplicationContext context = boot("millrace.worker.enabled=false")) {
      assertNull(context.getBeanProvider(WorkerLifecycle.class).getIfAvailable());
      Fake jobs = Fake.inline(context.getBean(Handlers.class));
      String id = jobs.submit(MAIL, new Mail("bob")).id();
      assertEquals("\"bob 1!\"", jobs.get(id, Job.Include.RESULT).result().text());
      assertFalse(jobs.get(id, Job.Include.LOGS).logs().isEmpty());
    }
  }
}
