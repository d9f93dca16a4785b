package dev.millrace.spring;

import dev.millrace.Handlers;
import dev.millrace.MillraceClient;
import dev.millrace.MillraceException;
import dev.millrace.Worker;
import dev.millrace.WorkerOptions;
import java.util.List;
import org.springframework.context.SmartLifecycle;

/**
 * Starts the worker when the application is ready, and stops it gracefully before the beans that
 * its handlers need. Without handlers there is no worker.
 */
public final class WorkerLifecycle implements SmartLifecycle {
  private final MillraceClient client;
  private final Handlers handlers;
  private final MillraceProperties.Worker properties;
  private final List<WorkerCustomizer> customizers;
  private volatile Worker worker;

  WorkerLifecycle(
      MillraceClient client,
      Handlers handlers,
      MillraceProperties.Worker properties,
      List<WorkerCustomizer> customizers) {
    this.client = client;
    this.handlers = handlers;
    this.properties = properties;
    this.customizers = customizers;
  }

  /**
   * Returns the worker.
   *
   * @return the worker; null if there are no handlers or it has not started
   */
  public Worker worker() {
    return worker;
  }

  @Override
  public void start() {
    if (handlers.types().isEmpty()) return;
    // A context may be stopped and started again, but a worker runs only once.
    Worker next = client.worker(this::configure).handlers(handlers);
    next.start();
    worker = next;
  }

  private void configure(WorkerOptions options) {
    options
        .queues(properties.queues())
        .concurrency(properties.concurrency())
        .lease(properties.lease())
        .pollWait(properties.pollWait())
        .grace(properties.grace())
        .id(properties.id())
        .version(properties.version())
        .labels(properties.labels());
    for (WorkerCustomizer each : customizers) each.customize(options);
  }

  @Override
  public void stop() {
    stop(() -> {});
  }

  @Override
  public void stop(Runnable done) {
    Worker stopping = worker;
    if (stopping == null) {
      done.run();
      return;
    }
    stopping.requestStop();
    Thread waiting =
        new Thread(
            () -> {
              try {
                stopping.await();
              } catch (MillraceException ended) {
                // The worker had ended by itself and has logged why.
              } finally {
                done.run();
              }
            },
            "millrace-stop");
    waiting.start();
  }

  @Override
  public boolean isRunning() {
    return worker != null && worker.isRunning();
  }
}
