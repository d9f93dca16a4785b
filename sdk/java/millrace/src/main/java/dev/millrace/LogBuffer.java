package dev.millrace;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** The log lines of an attempt that wait to be sent. Over the bound, the oldest are dropped. */
final class LogBuffer {
  private static final int MAX_BYTES = 256 << 10;
  private static final int MAX_MESSAGE = 8 << 10;

  /** A line that a handler wrote. */
  record Line(Instant at, LogLevel level, String message) {
    private int bytes() {
      return message.length();
    }
  }

  // Guarded by this.
  private final ArrayDeque<Line> lines = new ArrayDeque<>();
  private int bytes;
  private long since;

  /** Adds a line. Returns true if no other line was waiting. */
  synchronized boolean add(Line line) {
    Line kept = fitting(line);
    lines.add(kept);
    bytes += kept.bytes();
    while (bytes > MAX_BYTES) bytes -= lines.remove().bytes();
    if (lines.size() > 1) return false;
    since = Clock.now();
    return true;
  }

  /** Removes and returns the oldest lines. */
  synchronized List<Line> take(int atMost) {
    List<Line> taken = new ArrayList<>(Math.min(atMost, lines.size()));
    while (!lines.isEmpty() && taken.size() < atMost) {
      Line line = lines.remove();
      bytes -= line.bytes();
      taken.add(line);
    }
    return taken;
  }

  /** Puts back lines that the server certainly has not received. */
  synchronized void giveBack(List<Line> unsent) {
    for (int i = unsent.size() - 1; i >= 0; i--) {
      if (bytes + unsent.get(i).bytes() > MAX_BYTES) return;
      lines.addFirst(unsent.get(i));
      bytes += unsent.get(i).bytes();
    }
    since = Clock.now();
  }

  synchronized int size() {
    return lines.size();
  }

  /** When the oldest waiting line was added; {@link Clock#NEVER} if none waits. */
  synchronized long since() {
    return lines.isEmpty() ? Clock.NEVER : since;
  }

  private static Line fitting(Line line) {
    String message = line.message() == null ? "null" : line.message();
    return new Line(line.at(), line.level(), Text.whole(Text.cut(message, MAX_MESSAGE)));
  }
}
