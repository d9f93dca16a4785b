package dev.millrace;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/** Outcomes that wait to be sent. Of one thread. */
final class Outbox {
  /** So many are sent without waiting for more. */
  private static final int ENOUGH = 64;

  private static final long DELAY = Clock.millis(5);

  private static final int MAX_ACKS = 1_000; // of one request, as the server bounds them

  /** Well below the server's bound on a body, which holds other things, too. In characters. */
  private static final int MAX_SIZE = 4 << 20;

  private final ArrayDeque<Ack> acks = new ArrayDeque<>();

  /** These may be why a request was refused: each is sent alone. */
  private final PriorityQueue<Ack> alone =
      new PriorityQueue<>(Comparator.comparingLong(Ack::since));

  void add(Ack ack) {
    acks.add(ack);
  }

  void giveBack(List<Ack> unanswered) {
    for (int i = unanswered.size() - 1; i >= 0; i--) acks.addFirst(unanswered.get(i));
  }

  List<Ack> take() {
    List<Ack> taken = new ArrayList<>(Math.min(acks.size(), MAX_ACKS));
    int size = 0;
    while (!acks.isEmpty() && taken.size() < MAX_ACKS) {
      size += acks.peek().size();
      if (!taken.isEmpty() && size > MAX_SIZE) break;
      taken.add(acks.remove());
    }
    return taken;
  }

  void addAlone(Ack ack) {
    alone.add(ack);
  }

  /** The next one that is to be sent alone, if it is due; else null. */
  Ack takeAlone(long now) {
    return dueAlone() <= now ? alone.remove() : null;
  }

  long dueAlone() {
    return alone.isEmpty() ? Clock.NEVER : alone.peek().since();
  }

  /** When the waiting outcomes must go, unless nothing can join them. */
  long due() {
    if (acks.isEmpty()) return Clock.NEVER;
    return acks.size() >= ENOUGH ? 0 : acks.peek().since() + DELAY;
  }

  long dueWithoutDelay() {
    return acks.isEmpty() ? Clock.NEVER : acks.peek().since();
  }

  boolean isEmpty() {
    return acks.isEmpty() && alone.isEmpty();
  }

  boolean hasAcks() {
    return !acks.isEmpty();
  }

  void clear() {
    acks.clear();
    alone.clear();
  }
}
