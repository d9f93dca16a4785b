package dev.millrace;

import java.time.Duration;

/**
 * A job that the worker holds: its lease and its times, on the monotonic clock. Used by one thread
 * only.
 */
final class Slot {
  /** A lease. Tokens of different shards may be equal. */
  record Key(String id, long token) {
    // Written out, because the JVM generates these methods for records at the first use, which
    // would delay the first job.

    @Override
    public boolean equals(Object other) {
      return other instanceof Key key && key.token == token && key.id.equals(id);
    }

    @Override
    public int hashCode() {
      return Long.hashCode(token) ^ id.hashCode();
    }
  }

  enum State {
    /** The claim's answer was late, so a heartbeat must show that the lease is still valid. */
    CONFIRMING,
    RUNNING,
    /** The handler has ended; its outcome waits until its lines and progress are sent. */
    ENDED
  }

  final Execution execution;
  final long lease;

  /** When the attempt times out; NEVER if it has no timeout or the timeout is not known yet. */
  long timeoutAt = Clock.NEVER;

  /** The attempt does not time out before this. */
  long timeoutFrom = Clock.NEVER;

  /** The attempt has a timeout that is not known yet; its lease ends no later. */
  boolean hidesLength;

  private final long claimSentAt;
  private final long arrivedAt;

  State state;

  /** Until when the lease is certain. Also read by the handler's thread. */
  volatile long certainUntil;

  /** When a heartbeat is due. */
  long nextBeat;

  /** While CONFIRMING: the lease is over after this in any case. */
  final long confirmUntil;

  /** The next heartbeat carries no progress, which may be why the last one was refused. */
  boolean nextIsPlain;

  /** The server has refused a heartbeat: the lease is over. */
  boolean isRefused;

  boolean linesInFlight;
  boolean beatInFlight;

  /** The outcome of an ENDED slot, without its log lines. */
  String outcome;

  Slot(Execution execution, long lease, long claimSentAt, long arrivedAt) {
    this.execution = execution;
    this.lease = lease;
    this.claimSentAt = claimSentAt;
    this.arrivedAt = arrivedAt;
    certainUntil = claimSentAt + lease;
    confirmUntil = arrivedAt + lease;
    boolean isLate = arrivedAt - claimSentAt > lease / 3;
    state = isLate ? State.CONFIRMING : State.RUNNING;
    nextBeat = isLate ? arrivedAt : claimSentAt + lease / 3;
  }

  String id() {
    return execution.job().id();
  }

  long token() {
    return execution.token();
  }

  /** Sets the timeout. The server began to count between the claim and its answer. */
  void lasts(Duration attempt) {
    hidesLength = false;
    timeoutFrom = claimSentAt + attempt.toNanos();
    timeoutAt = arrivedAt + attempt.toNanos();
  }

  Key key() {
    return new Key(id(), token());
  }

  /** Says whether lines or progress of its handler are under way. */
  boolean isReporting() {
    return linesInFlight || beatInFlight;
  }

  /** Extends the lease after the success of a heartbeat sent at this instant. */
  void extended(long sentAt) {
    certainUntil = Math.max(certainUntil, sentAt + lease);
    nextBeat = sentAt + lease / 3;
  }

  boolean wantsBeats() {
    if (isRefused) return false;
    return state == State.CONFIRMING || (state == State.RUNNING && !execution.isLeaseLost());
  }

  /** When the worker must next check this slot's times. */
  long watchDue() {
    if (state == State.ENDED) return certainUntil;
    if (state == State.CONFIRMING) return confirmUntil;
    if (isRefused || execution.isLeaseLost()) return Clock.NEVER;
    return execution.stopReason() == null ? Math.min(certainUntil, timeoutAt) : certainUntil;
  }
}
