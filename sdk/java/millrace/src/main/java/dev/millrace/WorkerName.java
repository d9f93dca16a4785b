package dev.millrace;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The identity of a worker.
 *
 * @param id its name for the server
 */
record WorkerName(String id, String host, long pid) {
  private static final int MAX_HOST = 96;

  static WorkerName of(String id) {
    String host = hostName();
    long pid = ProcessHandle.current().pid();
    if (id != null) return new WorkerName(id, host, pid);
    String safe = host.replaceAll("[^A-Za-z0-9._:/-]", "-");
    if (safe.length() > MAX_HOST) safe = safe.substring(0, MAX_HOST);
    int random = ThreadLocalRandom.current().nextInt();
    return new WorkerName(String.format("%s-%d-%08x", safe, pid, random), host, pid);
  }

  private static String hostName() {
    try {
      // Cheaper than a query of the name service.
      String name = Files.readString(Path.of("/etc/hostname")).trim();
      if (!name.isEmpty()) return name;
    } catch (IOException absent) {
      // This system has no such file.
    }
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException nameless) {
      return "unknown";
    }
  }
}
