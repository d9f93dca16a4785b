package dev.millrace.conformance;

import dev.millrace.Cancel;
import dev.millrace.CodecException;
import dev.millrace.JobContext;
import dev.millrace.Jobs;
import dev.millrace.Json;
import dev.millrace.NonRetryable;
import dev.millrace.RetryAfter;
import dev.millrace.Snooze;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/** The scripted handler, which follows the steps in its payload. */
final class Script {
  private static final Logger LOG = Logger.getLogger("application");
  private static final Object GOES_ON = new Object();

  record Payload(Optional<List<Json>> script) {}

  /** An error whose own text fails. */
  private static final class Indescribable extends RuntimeException {
    private static final long serialVersionUID = 1;

    @Override
    public String getMessage() {
      throw new IllegalStateException("no text");
    }

    @Override
    public String toString() {
      throw new IllegalStateException("no text");
    }
  }

  /** A result that fails when it is read. */
  record Broken(int number) {
    @Override
    public int number() {
      throw new Indescribable();
    }
  }

  private final Supplier<Jobs> client;
  private final Consumer<Map<String, Object>> events;
  private final String worker;

  Script(Supplier<Jobs> client, Consumer<Map<String, Object>> events, String worker) {
    LOG.setLevel(Level.ALL);
    this.client = client;
    this.events = events;
    this.worker = worker;
  }

  Object handle(Payload payload, JobContext ctx) throws Exception {
    Map<String, Object> start = event("start", ctx);
    start.put("worker", worker);
    start.put("type", ctx.job().type());
    start.put("queue", ctx.job().queue());
    start.put("attempt", ctx.job().attempt());
    start.put("meta", ctx.job().meta());
    start.put("checkpoint", ctx.job().checkpoint());
    start.put("traceparent", ctx.job().traceparent());
    start.put("schedule", ctx.job().schedule());
    start.put("workflow", Flows.of(ctx.workflow()));
    start.put("parents", Flows.of(ctx.parents()));
    events.accept(start);
    AtomicBoolean told = new AtomicBoolean();
    try {
      List<Json> script = payload == null ? List.of() : payload.script().orElse(List.of());
      Object value = run(script, ctx, told);
      return value == GOES_ON ? null : value;
    } finally {
      events.accept(event("end", ctx));
    }
  }

  private Object run(List<Json> script, JobContext ctx, AtomicBoolean told) throws Exception {
    for (Json step : script) {
      Object value = run(step.as(Json[].class), ctx, told);
      if (value != GOES_ON) return value;
    }
    return GOES_ON;
  }

  private Object run(Json[] step, JobContext ctx, AtomicBoolean told) throws Exception {
    switch (text(step, 0)) {
      case "sleep" -> sleep(millis(step, 1), ctx, told);
      case "stubborn" -> stubborn(millis(step, 1), ctx, told);
      case "block" -> block(millis(step, 1), ctx, told);
      case "progress" ->
          ctx.progress(
              step[1].as(Double.class),
              step.length > 2 ? message(step, 2) : null,
              step.length > 3 && !step[3].isNull() ? step[3] : null);
      case "log" -> LOG.log(level(text(step, 1)), message(step, 2));
      case "submit" -> {
        Map<String, Object> submitted = event("submitted", ctx);
        submitted.remove("token");
        submitted.put(
            "id", client.get().submit(Shapes.read(step[1], Shapes.JobSpec.class).job()).id());
        events.accept(submitted);
      }
      case "enqueue" -> ctx.enqueue(Shapes.read(step[1], Shapes.JobSpec.class).job());
      case "grow" -> grow(Shapes.read(step[1], Grow.class), ctx);
      case "parent" -> {
        return ctx.parent(text(step, 1), Json.class);
      }
      case "on_attempt" -> {
        if (ctx.job().attempt() == step[1].as(Integer.class)) {
          return run(List.of(step[2].<Json[]>as(Json[].class)), ctx, told);
        }
      }
      case "return" -> {
        return step[1];
      }
      case "fail", "panic" -> throw new IllegalStateException(message(step, 1));
      case "fail_indescribably" -> throw new Indescribable();
      case "non_retryable" -> throw new NonRetryable(message(step, 1));
      case "snooze" -> throw new Snooze(millis(step, 1));
      case "retry_after" -> throw new RetryAfter(millis(step, 1), text(step, 2));
      case "cancel" -> throw new Cancel(text(step, 1));
      case "bad_result" -> {
        return Double.NaN;
      }
      case "broken_result" -> {
        return new Broken(1);
      }
      case "bad_progress" -> {
        ctx.progress(Double.NaN);
        try {
          ctx.progress(null, null, Double.NaN); // a checkpoint that has no form in JSON
        } catch (CodecException refused) {
          // As it should be.
        }
      }
      case "exit" -> Runtime.getRuntime().halt(9);
      default -> throw new IllegalArgumentException("no such step: " + step[0]);
    }
    return GOES_ON;
  }

  private record Grow(List<Flows.MemberSpec> members, List<String> skip) {}

  private static void grow(Grow grow, JobContext ctx) {
    if (grow.members() != null) {
      grow.members().forEach(member -> member.addTo(job -> ctx.add(null, job), ctx::add));
    }
    if (grow.skip() != null) grow.skip().forEach(ctx::skip);
  }

  private void sleep(Duration time, JobContext ctx, AtomicBoolean told) throws Exception {
    try {
      Thread.sleep(time.toMillis());
    } catch (InterruptedException interrupted) {
      tell(ctx, told);
      throw interrupted;
    }
  }

  private void stubborn(Duration time, JobContext ctx, AtomicBoolean told) {
    long end = System.nanoTime() + time.toNanos();
    for (long left; (left = end - System.nanoTime()) > 0; ) {
      try {
        TimeUnit.NANOSECONDS.sleep(left);
      } catch (InterruptedException interrupted) {
        tell(ctx, told);
      }
    }
  }

  // Ignores interruptions, as native code does; the observer is told.
  private void block(Duration time, JobContext ctx, AtomicBoolean told) {
    ctx.stopToken().onStop(reason -> tell(ctx, told));
    long end = System.nanoTime() + time.toNanos();
    while (System.nanoTime() < end) Thread.onSpinWait();
  }

  private void tell(JobContext ctx, AtomicBoolean told) {
    if (told.getAndSet(true)) return;
    Map<String, Object> event = event("told", ctx);
    event.put("reason", ctx.stopReason());
    events.accept(event);
  }

  private static Map<String, Object> event(String name, JobContext ctx) {
    Map<String, Object> event = new LinkedHashMap<>();
    event.put("event", name);
    event.put("job", ctx.job().id());
    event.put("token", ctx.token());
    return event;
  }

  private static Level level(String word) {
    return switch (word) {
      case "debug" -> Level.FINE;
      case "info" -> Level.INFO;
      case "error" -> Level.SEVERE;
      default -> Level.WARNING;
    };
  }

  private static String message(Json[] step, int place) {
    String text = text(step, place);
    return text == null ? null : text.replace("<half>", "\ud83d");
  }

  private static String text(Json[] step, int place) {
    return step[place].as(String.class);
  }

  private static Duration millis(Json[] step, int place) {
    return Duration.ofNanos((long) (step[place].as(Double.class) * 1e6));
  }
}
