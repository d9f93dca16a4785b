package dev.millrace;

import dev.millrace.Transport.Answer;
import dev.millrace.Transport.Replay;
import dev.millrace.Transport.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** What all calls of a client share: sending requests, and reading answers. */
abstract class Calls {
  final Transport transport;
  final ApiCodec codec;

  Calls(Transport transport, ApiCodec codec) {
    this.transport = transport;
    this.codec = codec;
  }

  // A call that creates jobs. Its key makes it idempotent.
  static Request once(String target, String body) {
    Map<String, String> key = Map.of("Idempotency-Key", UUID.randomUUID().toString());
    return new Request("POST", target, body, key, Replay.ALWAYS);
  }

  static Map<String, String> ifMatch(Long version) {
    return version == null ? Map.of() : Map.of("If-Match", "\"" + version + "\"");
  }

  final String reasonBody(String reason) {
    return reason == null ? "{}" : codec.write(Map.of("reason", reason));
  }

  final <T> T get(String target, Class<T> type) {
    return read(transport.call(Request.get(target)), type);
  }

  final <T> T post(String target, String body, Class<T> type) {
    return read(transport.call(Request.post(target, body)), type);
  }

  final void remove(String target) {
    transport.call(new Request("DELETE", target, null, Map.of(), Replay.ALWAYS));
  }

  final <T> Page<T> page(String path, Map<String, ?> parameters, Class<T> item) {
    return page(path, parameters, item, Duration.ZERO);
  }

  final <T> Page<T> page(String path, Map<String, ?> parameters, Class<T> item, Duration waits) {
    Request request = Request.get(Target.query(path, parameters));
    Answer answer = transport.call(request, waits.plus(transport.timeout()));
    try {
      return codec.readPage(answer.body(), item);
    } catch (CodecException notOurs) {
      throw Problems.badAnswer(answer.status(), answer.body(), null);
    }
  }

  final <T> List<T> all(String path, Map<String, String> filter, Class<T> item) {
    List<T> items = new ArrayList<>();
    Map<String, Object> parameters = new HashMap<>(filter);
    parameters.put("limit", 1000);
    Pages<T> pages =
        new Pages<>(
            null,
            cursor -> {
              if (cursor != null) parameters.put("cursor", cursor);
              return page(path, parameters, item);
            });
    pages.forEachRemaining(items::add);
    return items;
  }

  final <T> T read(Answer answer, Class<T> type) {
    try {
      T value = codec.read(answer.body(), type);
      if (value != null) return value;
    } catch (CodecException notOurs) {
      // Falls through.
    }
    throw Problems.badAnswer(answer.status(), answer.body(), null);
  }
}
