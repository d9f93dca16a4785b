package dev.millrace;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** A real server on a free loopback port with its own directory, until it is closed. */
public final class TestServer implements AutoCloseable {
  private static final int TRIES = 5; // another process may take the port first
  private static final int START_SECONDS = 60;
  private static final int PORTS_OF_A_PROCESS = 40;
  private static final AtomicLong nextPort = new AtomicLong();

  private final Path home;
  private final TestPostgres postgres; // null: SQLite
  private int port;
  private Process process;

  /** Starts a server. */
  public TestServer() {
    this(null);
  }

  /** Starts a server that keeps its jobs in a database; null: in a directory of its own. */
  public TestServer(TestPostgres postgres) {
    this.postgres = postgres;
    try {
      home = Files.createTempDirectory("millrace-java-");
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    for (int i = 1; ; i++) {
      try {
        port = freePort();
        start();
        return;
      } catch (IllegalStateException failed) {
        if (i == TRIES) throw failed;
      }
    }
  }

  /** The server's address. */
  public String url() {
    return "http://127.0.0.1:" + port;
  }

  /** Starts the server again on the same port and data. */
  public void start() {
    String binary = System.getenv("MILLRACE_BIN");
    if (binary == null) throw new AssertionError("MILLRACE_BIN names no server");
    String listen = "127.0.0.1:" + port;
    List<String> command =
        postgres == null
            ? List.of(binary, "serve", "--listen", listen, "--data", home + "/data")
            : List.of(binary, "serve", "--listen", listen, "--postgres", postgres.url());
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(home.resolve("log").toFile()));
    builder.environment().keySet().removeIf(name -> name.startsWith("MILLRACE_"));
    try {
      process = builder.start();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    awaitReady();
  }

  /** Ends the server at once; its data stays. */
  public void kill() {
    process.destroyForcibly();
    try {
      process.waitFor(START_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException told) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    kill();
    try (Stream<Path> files = Files.walk(home)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) Files.delete(file);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private void awaitReady() {
    HttpClient http = HttpClient.newHttpClient();
    HttpRequest request = HttpRequest.newBuilder(URI.create(url() + "/readyz")).build();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (System.nanoTime() < end) {
      if (!process.isAlive()) throw new IllegalStateException("the server has ended");
      try {
        if (http.send(request, BodyHandlers.discarding()).statusCode() == 200) return;
      } catch (IOException notYet) {
        // Again.
      } catch (InterruptedException told) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(told);
      }
      pause();
    }
    throw new IllegalStateException("the server is not ready");
  }

  private static void pause() {
    try {
      Thread.sleep(20);
    } catch (InterruptedException told) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Returns a free port. As in tests/postgres.py, each process has its own range of ports, below
   * those that the system uses for outgoing connections, so that a port is still free when its
   * server starts or restarts.
   */
  static int freePort() {
    long first = 20_000 + ProcessHandle.current().pid() % 300 * PORTS_OF_A_PROCESS;
    while (true) {
      int port = (int) (first + nextPort.getAndIncrement() % PORTS_OF_A_PROCESS);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return socket.getLocalPort();
      } catch (IOException taken) {
        // Try the next one.
      }
    }
  }
}
