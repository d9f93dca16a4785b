package dev.millrace;

import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/**
 * Copies lines that handlers' threads write to {@code java.util.logging} to their jobs' logs.
 * {@code System.Logger} writes there too, unless the application has another back end.
 */
final class JobLogs extends Handler {
  private static final Logger ROOT = Logger.getLogger("");
  private static final JobLogs INSTANCE = new JobLogs();
  private static int workers; // guarded by the class

  private final Formatter formatter = new SimpleFormatter();

  private JobLogs() {
    setLevel(Level.ALL);
  }

  /** Called by each worker that starts. */
  static synchronized void install() {
    if (workers++ == 0) ROOT.addHandler(INSTANCE);
  }

  /** Called by each worker that ends. */
  static synchronized void remove() {
    if (--workers == 0) ROOT.removeHandler(INSTANCE);
  }

  @Override
  public void publish(LogRecord line) {
    Execution current = Execution.current();
    if (current == null) return;
    String message = formatter.formatMessage(line);
    if (line.getThrown() != null) {
      message += "\n" + Described.stack(line.getThrown());
    }
    current.log(level(line.getLevel()), message);
  }

  private static LogLevel level(Level level) {
    int value = level.intValue();
    if (value >= Level.SEVERE.intValue()) return LogLevel.ERROR;
    if (value >= Level.WARNING.intValue()) return LogLevel.WARN;
    return value >= Level.CONFIG.intValue() ? LogLevel.INFO : LogLevel.DEBUG;
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
