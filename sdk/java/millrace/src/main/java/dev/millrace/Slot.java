package dev.millrace;

import java.time.Duration;

/** A job that the worker holds: its lease and its times, on the monotonic clock. Of one thread. */
final class Slot {
  /** Tokens of different shards may be the same. */
  record Key(String id, long token) {
    // Written out: the JVM makes these for records at the first use, which costs the first job
    // time.

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
    /** The claim's answer took long: a heartbeat must show that the lease holds. */
    CONFIRMING,
    RUNNING,
    /** The handler has ended; the outcome waits for what it reported before. */
    ENDED
  }

  final Execution execution;
  final long lease;

  /** When the attempt's time is over; NEVER if it has no bound, or none that is known yet. */
  long timeoutAt = Clock.NEVER;

  /** The attempt's time is not over before this. */
  long timeoutFrom = Clock.NEVER;

  /** The attempt has a bound, which is not known yet: its lease ends no later. */
  boolean hidesLength;

  private final long claimSentAt;
  private final long arrivedAt;

  State state;

  /** The lease is certain until then. Read by the handler's thread, too. */
  volatile long certainUntil;

  /** When a heartbeat is due. */
  long nextBeat;

  /** While CONFIRMING: after this the lease is over, whatever happened. */
  final long confirmUntil;

  /** Whether the next heartbeat goes without progress, which may be why the last was refused. */
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

  /** The server began to count between the claim and its answer. */
  void lasts(Duration attempt) {
    hidesLength = false;
    timeoutFrom = claimSentAt + attempt.toNanos();
    timeoutAt = arrivedAt + attempt.toNanos();
  }

  Key key() {
    return new Key(id(), token());
  }

  /** Whether something that its handler reported is under way. */
  boolean isReporting() {
    return linesInFlight || beatInFlight;
  }

  /** A heartbeat that was sent at this instant has extended the lease. */
  void extended(long sentAt) {
    certainUntil = Math.max(certainUntil, sentAt + lease);
    nextBeat = sentAt + lease / 3;
  }

  boolean wantsBeats() {
    if (isRefused) return false;
    return state == State.CONFIRMING || (state == State.RUNNING && !execution.isLeaseLost());
  }

  /** When the worker must look at this slot for reasons of time alone. */
  long watchDue() {
    if (state == State.ENDED) return certainUntil;
    if (state == State.CONFIRMING) return confirmUntil;
    if (isRefused || execution.isLeaseLost()) return Clock.NEVER;
    return execution.told() == null ? Math.min(certainUntil, timeoutAt) : certainUntil;
  }
}
