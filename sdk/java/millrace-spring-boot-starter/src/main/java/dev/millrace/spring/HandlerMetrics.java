package dev.millrace.spring;

import dev.millrace.Cancel;
import dev.millrace.JobContext;
import dev.millrace.Middleware;
import dev.millrace.NonRetryable;
import dev.millrace.Outcome;
import dev.millrace.Snooze;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.beans.factory.ObjectProvider;

/**
 * Measures handlers: the timer {@code millrace.handler}, by the type, the queue and the outcome of
 * the attempt, and the gauges {@code millrace.worker.running} and {@code millrace.worker.up}.
 */
final class HandlerMetrics implements Middleware {
  private final MeterRegistry registry;
  private final ObjectProvider<WorkerLifecycle> lifecycle;
  private final AtomicInteger running = new AtomicInteger();

  HandlerMetrics(MeterRegistry registry, ObjectProvider<WorkerLifecycle> lifecycle) {
    this.registry = registry;
    this.lifecycle = lifecycle;
    // Gauges hold what they measure weakly: it must be this object's.
    Gauge.builder("millrace.worker.running", running, AtomicInteger::get)
        .description("Handlers that run now")
        .register(registry);
    Gauge.builder("millrace.worker.up", this, HandlerMetrics::up)
        .description("1 while the worker works, 0 once it has ended")
        .register(registry);
  }

  private double up() {
    WorkerLifecycle known = lifecycle.getIfAvailable();
    return known != null && known.isRunning() ? 1 : 0;
  }

  @Override
  public Object handle(JobContext context, Callable<Object> next) throws Exception {
    Timer.Sample began = Timer.start(registry);
    running.incrementAndGet();
    String outcome = "failed";
    try {
      Object value = next.call();
      outcome = word(value);
      return value;
    } catch (NonRetryable dead) {
      outcome = "dead";
      throw dead;
    } catch (Snooze later) {
      outcome = "snoozed";
      throw later;
    } catch (Cancel cancelled) {
      outcome = "cancelled";
      throw cancelled;
    } finally {
      running.decrementAndGet();
      began.stop(
          registry.timer(
              "millrace.handler",
              "type",
              context.job().type(),
              "queue",
              context.job().queue(),
              "outcome",
              outcome));
    }
  }

  private static String word(Object value) {
    if (value instanceof Outcome.Failed failed) return failed.retryable() ? "failed" : "dead";
    if (value instanceof Outcome.Snoozed) return "snoozed";
    if (value instanceof Outcome.Cancelled) return "cancelled";
    return value instanceof Outcome.Released ? "released" : "succeeded";
  }
}
