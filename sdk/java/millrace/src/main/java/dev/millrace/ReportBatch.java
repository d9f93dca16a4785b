package dev.millrace;

import static dev.millrace.Constants.MOST_ITEMS;

import dev.millrace.Exchange.BeatOf;
import dev.millrace.Exchange.LinesOf;
import java.util.ArrayList;
import java.util.List;

/** The heartbeats and log lines of one report. Used by one thread only. */
final class ReportBatch {
  /** How long progress and lines wait for more: a little less than the second they may be late. */
  private static final long DELAY = Clock.millis(950);

  final List<BeatOf> beats = new ArrayList<>();
  final List<LinesOf> lines = new ArrayList<>();
  private int room = MOST_ITEMS; // for log lines

  /** When a report must be sent for this slot. */
  static long due(Slot slot) {
    if (slot.state == Slot.State.ENDED) return mustGoFirst(slot) ? 0 : Clock.NEVER;
    if (!slot.wantsBeats()) return Clock.NEVER;
    if (slot.state == Slot.State.CONFIRMING) return slot.nextBeat;
    long progress = after(slot.execution.progressSince());
    return Math.min(slot.nextBeat, Math.min(progress, after(slot.execution.logs().since())));
  }

  /** Says whether an outcome must wait until its handler's lines and progress are sent. */
  static boolean mustGoFirst(Slot slot) {
    return slot.execution.progressSince() != Clock.NEVER
        || slot.execution.logs().size() > MOST_ITEMS;
  }

  /** Adds the due heartbeat and lines of a slot. */
  void take(Slot slot, long now) {
    boolean hasEnded = slot.state == Slot.State.ENDED;
    if (!hasEnded && !slot.wantsBeats()) return;
    takeBeat(slot, now, hasEnded);
    Execution execution = slot.execution;
    boolean linesDue =
        hasEnded ? execution.logs().size() > MOST_ITEMS : after(execution.logs().since()) <= now;
    if (!linesDue || room <= 0) return;
    List<LogBuffer.Line> taken = execution.logs().take(room);
    lines.add(new LinesOf(slot, taken));
    slot.linesInFlight = true;
    room -= taken.size();
  }

  private void takeBeat(Slot slot, long now, boolean hasEnded) {
    long since = slot.execution.progressSince();
    boolean progressDue = hasEnded ? since != Clock.NEVER : after(since) <= now;
    // Beats that are due soon are sent with those that are due now.
    boolean beatDue = !hasEnded && slot.nextBeat - slot.lease / 12 <= now;
    if ((!beatDue && !progressDue) || beats.size() == MOST_ITEMS) return;
    boolean isPlain = slot.nextIsPlain || slot.state == Slot.State.CONFIRMING;
    slot.nextIsPlain = false;
    beats.add(new BeatOf(slot, isPlain ? null : slot.execution.takeProgress()));
    slot.beatInFlight = true;
  }

  private static long after(long since) {
    return since == Clock.NEVER ? since : since + DELAY;
  }
}
