package dev.millrace;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow.Subscriber;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;

/** Sends requests to one server, and decides which are retried. Thread-safe. */
final class Transport {
  /** Says when a request may be sent again after a lost answer. */
  enum Replay {
    ALWAYS,
    /** Only if the server cannot have begun. */
    IF_NOT_BEGUN
  }

  /**
   * A request.
   *
   * @param target path and query, percent-encoded
   * @param body JSON, or null
   */
  record Request(
      String method, String target, String body, Map<String, String> headers, Replay replay) {
    static Request get(String target) {
      return new Request("GET", target, null, Map.of(), Replay.ALWAYS);
    }

    static Request post(String target, String body) {
      return new Request("POST", target, body, Map.of(), Replay.ALWAYS);
    }
  }

  /**
   * An answer with a 2xx status.
   *
   * @param tries how often the request was sent
   */
  record Answer(int status, String body, int tries) {}

  /** Reports when the HTTP client asks for its bytes. */
  private record Body(BodyPublisher bytes, Runnable written) implements BodyPublisher {
    @Override
    public long contentLength() {
      return bytes.contentLength();
    }

    @Override
    public void subscribe(Subscriber<? super ByteBuffer> connection) {
      written.run();
      bytes.subscribe(connection);
    }
  }

  private final HttpClient http;
  private final String url;
  private final String token;
  private final Duration timeout;
  private final Duration queueFullTimeout;

  Transport(
      HttpClient http, String url, String token, Duration timeout, Duration queueFullTimeout) {
    this.http = http;
    this.url = url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
    this.token = token;
    this.timeout = timeout;
    this.queueFullTimeout = queueFullTimeout;
  }

  Transport withTimeout(Duration other) {
    return new Transport(http, url, token, other, queueFullTimeout);
  }

  String url() {
    return url;
  }

  Duration timeout() {
    return timeout;
  }

  /** Sends a request, with retries until the deadline of the whole call. */
  Answer call(Request request) {
    return call(request, timeout);
  }

  Answer call(Request request, Duration within) {
    long begin = System.nanoTime();
    long deadline = begin + within.toNanos();
    HttpRequest http = httpRequest(request, () -> {});
    Backoff backoff = new Backoff();
    for (int tries = 1; ; tries++) {
      MillraceException error;
      boolean again;
      try {
        HttpResponse<byte[]> response = await(send(http), deadline);
        if (isSuccess(response)) return new Answer(response.statusCode(), text(response), tries);
        if (tries > 1 && response.statusCode() == 404 && request.method().equals("DELETE")) {
          return new Answer(204, "", tries);
        }
        error = Problems.read(response);
        again = mayCure(response.statusCode(), request.replay());
        if (isFull(error)) deadline = Math.min(deadline, begin + queueFullTimeout.toNanos());
      } catch (IOException lost) {
        error = Problems.unreachable(url, lost);
        again = mayCure(lost, request.replay());
      }
      long pause = backoff.nextNanos();
      if (error.retryAfter() != null) pause = Math.max(pause, error.retryAfter().toNanos());
      if (!again || pause > deadline - System.nanoTime()) {
        error.tries = tries;
        throw error;
      }
      sleep(pause);
    }
  }

  /**
   * Sends a request once, for workers. On an error, the future fails with a {@link
   * MillraceException}. Cancelling it aborts the request.
   *
   * @param written called when the body is written to the connection
   */
  CompletableFuture<HttpResponse<byte[]>> sendOnce(Request request, Runnable written) {
    return send(httpRequest(request, written));
  }

  /** Returns the body of an answer, or throws the error that it reports. */
  String bodyOf(HttpResponse<byte[]> response) {
    if (isSuccess(response)) return text(response);
    throw Problems.read(response);
  }

  /** Returns the error of a failed future of {@link #sendOnce}. */
  MillraceException errorOf(Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    return cause instanceof MillraceException known ? known : Problems.unreachable(url, cause);
  }

  private CompletableFuture<HttpResponse<byte[]>> send(HttpRequest request) {
    return http.sendAsync(request, BodyHandlers.ofByteArray());
  }

  private static HttpResponse<byte[]> await(
      CompletableFuture<HttpResponse<byte[]>> answer, long deadline) throws IOException {
    try {
      return answer.get(Math.max(deadline - System.nanoTime(), 1), TimeUnit.NANOSECONDS);
    } catch (TimeoutException late) {
      answer.cancel(true);
      throw new IOException("no answer within the deadline", late);
    } catch (InterruptedException told) {
      answer.cancel(true);
      throw interrupted(told);
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof IOException lost) throw lost;
      throw new IOException(failed.getCause());
    }
  }

  private HttpRequest httpRequest(Request request, Runnable written) {
    HttpRequest.Builder builder = HttpRequest.newBuilder(uri(request.target()));
    builder.header("User-Agent", "millrace-java/" + Version.TEXT);
    if (token != null) builder.header("Authorization", "Bearer " + token);
    if (request.body() == null) {
      builder.method(request.method(), BodyPublishers.noBody());
    } else {
      builder.header("Content-Type", "application/json");
      byte[] bytes = request.body().getBytes(StandardCharsets.UTF_8);
      builder.method(request.method(), new Body(BodyPublishers.ofByteArray(bytes), written));
    }
    request.headers().forEach(builder::header);
    return builder.build();
  }

  private URI uri(String target) {
    try {
      return URI.create(url + target);
    } catch (IllegalArgumentException bad) {
      throw MillraceException.of("invalid_request", "no address: " + url + target, bad);
    }
  }

  private static boolean isSuccess(HttpResponse<byte[]> response) {
    return response.statusCode() / 100 == 2;
  }

  private static String text(HttpResponse<byte[]> response) {
    return new String(response.body(), StandardCharsets.UTF_8);
  }

  private static boolean isFull(MillraceException error) {
    return error.code().equals("queue_full") || error.code().equals("key_full");
  }

  private static boolean mayCure(int status, Replay replay) {
    if (status == 429 || status == 503) return true;
    return replay == Replay.ALWAYS && (status == 502 || status == 504);
  }

  private static boolean mayCure(IOException lost, Replay replay) {
    if (lost instanceof SSLException) return false;
    return replay == Replay.ALWAYS || lost instanceof ConnectException;
  }

  static void sleep(long nanos) {
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } catch (InterruptedException told) {
      throw interrupted(told);
    }
  }

  private static MillraceException interrupted(InterruptedException told) {
    Thread.currentThread().interrupt();
    return MillraceException.of("interrupted", "interrupted while waiting for the answer", told);
  }
}
