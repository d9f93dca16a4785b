package dev.millrace;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A worker's request that is under way, and its contents. Used by one thread only. */
final class Exchange {
  /**
   * Log lines of one attempt.
   *
   * @param lines the lines taken from its buffer
   */
  record LinesOf(Slot slot, List<LogBuffer.Line> lines) {}

  /**
   * A heartbeat.
   *
   * @param progress the progress that it carries; may be null
   */
  record BeatOf(Slot slot, Execution.Report progress) {}

  final boolean isClaimer;
  final List<Ack> acks;
  final List<BeatOf> beats;
  final List<LinesOf> lines;

  /** The number of jobs that it asks for. */
  final int asked;

  /** How long its claim may wait at the server. */
  final long wait;

  /** When it was passed to the HTTP client, which may have to connect first. */
  long sentAt;

  /** When it was written to the connection; NEVER before that. Set by the HTTP client's thread. */
  volatile long writtenAt = Clock.NEVER;

  boolean isBrokenOff;
  long arrivedAt;
  long deadline;
  CompletableFuture<HttpResponse<byte[]>> answer;

  Exchange(
      boolean isClaimer,
      List<Ack> acks,
      List<BeatOf> beats,
      List<LinesOf> lines,
      int asked,
      long wait) {
    this.isClaimer = isClaimer;
    this.acks = acks;
    this.beats = beats;
    this.lines = lines;
    this.asked = asked;
    this.wait = wait;
  }
}
