package dev.millrace;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;

/** A PostgreSQL server of tests/postgres.py, until it is closed. */
public final class TestPostgres implements AutoCloseable {
  private static final String SCRIPT =
      "import sys, postgres; cluster = postgres.Cluster(); print(cluster.url(), flush=True);"
          + " sys.stdin.read(); cluster.close()";

  private static final Duration SOON = Duration.ofSeconds(60);

  private final Process process;
  private final String url;

  /** Starts a server with an empty database. */
  public TestPostgres() {
    // The tests of the server lie beside its build, or where the environment says.
    String tests = System.getenv("MILLRACE_TESTS");
    if (tests == null) {
      Path binary = Path.of(System.getenv("MILLRACE_BIN")).toAbsolutePath();
      tests = binary.resolveSibling("../../tests").normalize().toString();
    }
    ProcessBuilder builder = new ProcessBuilder("python3", "-B", "-c", SCRIPT);
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().put("PYTHONPATH", tests);
    try {
      process = builder.start();
      url =
          new BufferedReader(
                  new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))
              .readLine();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    if (url == null) throw new AssertionError("PostgreSQL does not start");
  }

  /** The database's address for the server. */
  public String url() {
    return url;
  }

  /** The database's address for JDBC. */
  public String jdbcUrl() {
    String bare = url.substring(url.indexOf('@') + 1);
    String user = url.substring(url.indexOf("//") + 2, url.indexOf('@'));
    return "jdbc:postgresql://" + bare + "?user=" + user;
  }

  /**
   * Waits until a job that was submitted in a transaction has come to the server, and has ended.
   */
  public static Job awaitEnd(MillraceClient client, String id) {
    for (long end = System.nanoTime() + SOON.toNanos(); ; pause()) {
      try {
        return client.waitFor(id, SOON);
      } catch (MillraceException.NotFound notYet) {
        if (System.nanoTime() > end) throw notYet;
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(20);
    } catch (InterruptedException told) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    try {
      process.getOutputStream().close();
      process.waitFor();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (InterruptedException told) {
      Thread.currentThread().interrupt();
    }
  }
}
