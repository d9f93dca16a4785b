package dev.millrace;

import static dev.millrace.Constants.MANY_OUTCOMES;
import static dev.millrace.Constants.MOST_ITEMS;
import static dev.millrace.Constants.MOST_OUTCOME_BYTES;
import static dev.millrace.Constants.OUTCOME_DELAY;
import static dev.millrace.Constants.PAUSE_AFTER_REFUSAL;

import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/** Outcomes that wait to be sent. Used by one thread only. */
final class Outbox {
  private static final System.Logger LOG = System.getLogger("dev.millrace");

  private static final int MAX_FAILURES_ALONE = 6;

  private final ArrayDeque<Ack> acks = new ArrayDeque<>();

  /** Outcomes that are sent one by one, as they may be why a request was refused. */
  private final PriorityQueue<Ack> alone =
      new PriorityQueue<>(Comparator.comparingLong(Ack::since));

  void add(Ack ack) {
    acks.add(ack);
  }

  void giveBack(List<Ack> unanswered) {
    for (int i = unanswered.size() - 1; i >= 0; i--) acks.addFirst(unanswered.get(i));
  }

  List<Ack> take() {
    List<Ack> taken = new ArrayList<>(Math.min(acks.size(), MOST_ITEMS));
    int size = 0;
    while (!acks.isEmpty() && taken.size() < MOST_ITEMS) {
      size += acks.peek().size();
      if (!taken.isEmpty() && size > MOST_OUTCOME_BYTES) break;
      taken.add(acks.remove());
    }
    return taken;
  }

  void addAlone(Ack ack) {
    alone.add(ack);
  }

  /** Removes and returns the next outcome to send alone, if it is due; else returns null. */
  Ack takeAlone(long now) {
    return dueAlone() <= now ? alone.remove() : null;
  }

  long dueAlone() {
    return alone.isEmpty() ? Clock.NEVER : alone.peek().since();
  }

  /** When the waiting outcomes must be sent, if more outcomes may still join them. */
  long due() {
    if (acks.isEmpty()) return Clock.NEVER;
    return acks.size() >= MANY_OUTCOMES ? 0 : acks.peek().since() + OUTCOME_DELAY;
  }

  long dueWithoutDelay() {
    return acks.isEmpty() ? Clock.NEVER : acks.peek().since();
  }

  /**
   * Takes the server's answer to an outcome.
   *
   * @param item null if there is no answer
   */
  void answered(Ack ack, Wire.Item item, long now) {
    if (item == null) {
      add(ack.at(now + PAUSE_AFTER_REFUSAL, ack.failures()));
      return;
    }
    if (item.error() == null) return;
    MillraceException error = item.error().error();
    if (error instanceof MillraceException.LeaseLost) {
      LOG.log(Level.WARNING, "job {0}: the lease was over before its outcome arrived", ack.id());
    } else if (Refusal.isForNow(error)) {
      addAlone(ack.at(now + PAUSE_AFTER_REFUSAL, ack.failures()));
    } else {
      refused(ack, error, now);
    }
  }

  /** Replaces an outcome that the server will never accept with a failure. */
  void refused(Ack ack, MillraceException error, long now) {
    LOG.log(
        Level.WARNING,
        "job {0}: the server refused the outcome: {1}",
        ack.id(),
        error.getMessage());
    if (!ack.isSubstitute()) {
      add(ack.substitute("the server refused the outcome: " + error.getMessage()));
    } else if (ack.failures() < MAX_FAILURES_ALONE) {
      addAlone(ack.at(now + (PAUSE_AFTER_REFUSAL << ack.failures()), ack.failures() + 1));
    }
  }

  boolean isEmpty() {
    return acks.isEmpty() && alone.isEmpty();
  }

  void clear() {
    acks.clear();
    alone.clear();
  }
}
