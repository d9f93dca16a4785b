package dev.millrace;

import dev.millrace.Exchange.BeatOf;
import dev.millrace.Exchange.LinesOf;
import dev.millrace.Transport.Request;
import dev.millrace.Wire.PollAnswer;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * Sends a worker's requests, each once. Answers are decoded in the HTTP client's threads, because
 * the worker's own thread must watch leases.
 */
final class PollClient {
  private final Transport transport;
  private final ApiCodec codec;
  private final PollWriter writer;
  private final String pollPath;

  PollClient(Transport transport, ApiCodec codec, PollWriter writer, WorkerName name) {
    this.transport = transport;
    this.codec = codec;
    this.writer = writer;
    pollPath = Target.path("/v1/workers/", name.id(), "/poll");
  }

  /** How long one try may take if no lease depends on it. */
  long patience() {
    return transport.timeout().toNanos();
  }

  String url() {
    return transport.url();
  }

  /**
   * Sends a poll.
   *
   * @param then gets the answer or the error, in any thread
   */
  void send(Exchange exchange, BiConsumer<PollAnswer, MillraceException> then) {
    send(exchange, body(exchange), then);
  }

  void sayGoodbye(Exchange exchange, BiConsumer<PollAnswer, MillraceException> then) {
    send(exchange, PollWriter.goodbye(), then);
  }

  private void send(
      Exchange exchange, String body, BiConsumer<PollAnswer, MillraceException> then) {
    exchange.sentAt = Clock.now();
    exchange.answer =
        transport.sendOnce(Request.post(pollPath, body), () -> exchange.writtenAt = Clock.now());
    decode(
        exchange.answer,
        text -> codec.read(text, PollAnswer.class),
        (answer, error) -> {
          exchange.arrivedAt = Clock.now();
          then.accept(answer, error);
        });
  }

  /** Sends a separate heartbeat for a job. The answer is the whole job. */
  void beatAlone(Slot slot, long timeout, BiConsumer<Job, MillraceException> then) {
    String target = Target.path("/v1/jobs/", slot.id(), "/heartbeat");
    String body = codec.write(Map.of("token", slot.token()));
    CompletableFuture<HttpResponse<byte[]>> answer =
        transport.sendOnce(Request.post(target, body), () -> {});
    decode(
        answer.orTimeout(timeout, TimeUnit.NANOSECONDS), text -> codec.read(text, Job.class), then);
  }

  private <T> void decode(
      CompletableFuture<HttpResponse<byte[]>> response,
      Function<String, T> read,
      BiConsumer<T, MillraceException> then) {
    response.whenComplete(
        (came, failed) -> {
          T answer = null;
          MillraceException error = null;
          try {
            if (failed == null) {
              answer = read.apply(transport.bodyOf(came));
            } else {
              error = transport.errorOf(failed);
            }
          } catch (MillraceException known) {
            error = known;
          } catch (RuntimeException | Error notOurs) { // an Error, too, must get to the worker
            error = Problems.badAnswer(came.statusCode(), "a body that does not fit", null);
          }
          then.accept(answer, error);
        });
  }

  private String body(Exchange exchange) {
    List<PollWriter.Beat> beats = new ArrayList<>(exchange.beats.size());
    for (BeatOf beat : exchange.beats) {
      beats.add(new PollWriter.Beat(beat.slot().id(), beat.slot().token(), beat.progress()));
    }
    List<PollWriter.LineOf> lines = new ArrayList<>();
    for (LinesOf taken : exchange.lines) {
      for (LogBuffer.Line line : taken.lines()) {
        lines.add(new PollWriter.LineOf(taken.slot().id(), taken.slot().token(), line));
      }
    }
    List<String> acks = exchange.acks.stream().map(Ack::json).toList();
    long waitMillis = exchange.wait / Clock.millis(1);
    return writer.poll(acks, beats, lines, exchange.asked, waitMillis);
  }
}
