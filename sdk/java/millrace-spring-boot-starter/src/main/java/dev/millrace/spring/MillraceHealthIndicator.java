package dev.millrace.spring;

import dev.millrace.MillraceClient;
import dev.millrace.MillraceException;
import dev.millrace.Worker;
import java.time.Duration;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;

/**
 * Says whether the application's worker works: it is down once the worker has ended by an error,
 * and while the server can't be reached. Without a worker it asks the server.
 */
final class MillraceHealthIndicator extends AbstractHealthIndicator {
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private final MillraceClient client;
  private final WorkerLifecycle lifecycle; // null without a worker

  MillraceHealthIndicator(MillraceClient client, WorkerLifecycle lifecycle) {
    super("the worker can't be judged");
    this.client = client.withTimeout(PATIENCE);
    this.lifecycle = lifecycle;
  }

  @Override
  protected void doHealthCheck(Health.Builder health) {
    health.up().withDetail("url", client.url());
    Worker worker = lifecycle == null ? null : lifecycle.worker();
    if (worker == null) {
      client.call("GET", "/readyz");
      return;
    }
    health.withDetail("worker", worker.id());
    MillraceException failure = worker.failure();
    if (failure != null) {
      health.down(failure);
    } else if (!worker.isRunning()) {
      health.outOfService().withDetail("reason", "the worker was stopped");
    } else if (!worker.isServerReachable()) {
      health.down().withDetail("reason", "the server can't be reached; the worker tries on");
    }
  }
}
