package dev.millrace;

import java.lang.System.Logger.Level;

/** Logs once that the server is lost, and once that it is back. Changed by one thread only. */
final class Reachability {
  private static final System.Logger LOG = System.getLogger("dev.millrace");

  private volatile boolean isAway;

  boolean isAway() {
    return isAway;
  }

  void failed(MillraceException error) {
    if (isAway) return;
    isAway = true;
    LOG.log(Level.WARNING, "{0}; the worker tries on", error.getMessage());
  }

  void worked(String url) {
    if (!isAway) return;
    isAway = false;
    LOG.log(Level.INFO, "the worker reached {0} again", url);
  }
}
