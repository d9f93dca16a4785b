package dev.millrace;

import static dev.millrace.Constants.COMMIT_PATIENCE;
import static dev.millrace.Constants.COMMIT_PAUSE;
import static dev.millrace.Constants.LONGEST_WAIT;

import dev.millrace.Transport.Answer;
import dev.millrace.Transport.Replay;
import dev.millrace.Transport.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Predicate;

/** What all calls of a client share: sending requests, and reading answers. */
abstract class Calls {
  /** The longest time that one request may wait at the server. */
  private static final Duration MAX_WAIT = Duration.ofNanos(LONGEST_WAIT);

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

  /**
   * Waits until what is at a path has ended. Something that is not there may still come: a job that
   * was submitted in a transaction comes a moment after the commit.
   *
   * @param what names it in the error
   */
  final <T> T await(
      String what, String path, Duration timeout, Class<T> type, Predicate<T> hasEnded) {
    long began = System.nanoTime();
    long deadline = began + timeout.toNanos();
    for (; ; ) {
      Duration left = Duration.ofNanos(Math.max(deadline - System.nanoTime(), 0));
      Duration wait = left.compareTo(MAX_WAIT) < 0 ? left : MAX_WAIT;
      Map<String, Object> parameters =
          Map.of("wait_ms", wait.toMillis(), "until", "final", "include", "result");
      Request request = Request.get(Target.query(path, parameters));
      T found;
      try {
        found = read(transport.call(request, wait.plus(transport.timeout())), type);
      } catch (MillraceException.NotFound none) {
        long now = System.nanoTime();
        if (now - began >= COMMIT_PATIENCE || now - deadline >= 0) throw none;
        Transport.sleep(COMMIT_PAUSE);
        continue;
      }
      if (hasEnded.test(found)) return found;
      if (System.nanoTime() - deadline >= 0) {
        String message = what + " has not ended within " + timeout.toMillis() + " ms";
        throw MillraceException.of("wait_timeout", message, null);
      }
    }
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
