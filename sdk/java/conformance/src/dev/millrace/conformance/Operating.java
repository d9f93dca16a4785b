package dev.millrace.conformance;

import dev.millrace.Breaker;
import dev.millrace.BulkRequest;
import dev.millrace.BulkResult;
import dev.millrace.EventFilter;
import dev.millrace.JobFilter;
import dev.millrace.Json;
import dev.millrace.LimitSettings;
import dev.millrace.MillraceClient;
import dev.millrace.Rate;
import dev.millrace.StatsFilter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The commands on limits, on many jobs at once, and those that ask what the server knows. */
final class Operating {
  private Operating() {}

  static Object carryOut(Program.Command c, MillraceClient client) {
    return switch (c.name()) {
      case "limits" -> Map.of("items", client.limits());
      case "limit" -> client.limit(c.of());
      case "put_limit" -> client.putLimit(c.of(), settings(c.settings()), c.version());
      case "patch_limit" -> client.patchLimit(c.of(), settings(c.settings()), c.version());
      case "pause_limit" -> client.pauseLimit(c.of(), c.reason());
      case "resume_limit" -> client.resumeLimit(c.of());
      case "delete_limit" -> {
        client.deleteLimit(c.of(), c.force() != null && c.force());
        yield Map.of();
      }
      case "bulk" -> {
        BulkResult result = client.bulk(Shapes.read(c.request(), Bulk.class).request());
        yield result.operation() == null ? result : result.operation();
      }
      case "operations" ->
          Map.of("items", c.state() == null ? client.operations() : client.operations(c.state()));
      case "operation" -> client.operation(c.operation());
      case "pause_operation" -> client.pauseOperation(c.operation());
      case "resume_operation" -> client.resumeOperation(c.operation());
      case "cancel_operation" -> client.cancelOperation(c.operation());
      case "workers" -> Map.of("items", client.workers());
      case "events" -> client.events(events(c));
      case "stats" -> client.stats(stats(c));
      case "why" -> client.why(c.jobId());
      case "call" -> {
        Map<String, Object> query = new TreeMap<>();
        if (c.query() != null) c.query().forEach((name, value) -> query.put(name, text(value)));
        Json answer = client.call(c.method(), c.path(), query, c.body());
        yield answer == null ? Map.of() : answer;
      }
      default -> throw new IllegalArgumentException("no such command: " + c.name());
    };
  }

  private record Bulk(
      BulkRequest.Action action,
      List<String> ids,
      Shapes.Filter filter,
      Integer priority,
      Boolean dryRun,
      Boolean operation) {

    BulkRequest request() {
      JobFilter selected = filter == null ? JobFilter.all() : filter.filter();
      BulkRequest request =
          ids == null ? BulkRequest.of(action, selected) : BulkRequest.of(action, ids);
      if (priority != null) request = request.priority(priority);
      if (dryRun != null && dryRun) request = request.dryRun();
      return operation != null && operation ? request.asOperation() : request;
    }
  }

  static LimitSettings settings(Map<String, Json> named) {
    LimitSettings settings = LimitSettings.create();
    for (Map.Entry<String, Json> one : named.entrySet()) {
      Json value = one.getValue();
      settings =
          switch (one.getKey()) {
            case "per_key" -> settings.perKey(value.as(Boolean.class));
            case "concurrency" -> settings.concurrency(value.as(Integer.class));
            case "rate" -> settings.rate(Shapes.read(value, Rate.class));
            case "retry_rate" -> settings.retryRate(Shapes.read(value, Rate.class));
            case "breaker" -> settings.breaker(Shapes.read(value, Breaker.class));
            default -> throw new IllegalArgumentException(one.getKey());
          };
    }
    return settings;
  }

  private static EventFilter events(Program.Command c) {
    EventFilter filter = EventFilter.all().cursor(c.cursor());
    if (c.job() != null) filter = filter.job(c.jobId());
    if (c.types() != null) filter = filter.types(c.types().toArray(String[]::new));
    if (c.queues() != null) filter = filter.queues(c.queues().toArray(String[]::new));
    if (c.limit() != null) filter = filter.limit(c.limit());
    return c.wait_() == null ? filter : filter.wait(c.wait_());
  }

  private static StatsFilter stats(Program.Command c) {
    StatsFilter filter = StatsFilter.lastHour();
    if (c.window() != null) filter = filter.window(c.window());
    if (c.step() != null) filter = filter.step(c.step());
    if (c.by() != null) filter = filter.by(c.by());
    return c.of() == null ? filter : filter.name(c.of());
  }

  private static String text(Json value) {
    return value.text().startsWith("\"") ? value.as(String.class) : value.text();
  }
}
