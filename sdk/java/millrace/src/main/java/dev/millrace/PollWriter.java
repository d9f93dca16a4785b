package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** Writes a worker's requests, and keeps their constant parts. Immutable. */
final class PollWriter {
  private final String claimPrefix; // the members of a claim except its limit and wait

  PollWriter(WorkerOptions options, Collection<String> types, String host, long pid) {
    String version = options.versionOr(System.getenv("MILLRACE_WORKER_VERSION"));
    JsonWriter out = new JsonWriter();
    ApiCodec codec = ApiCodec.STANDARD;
    codec.write(options.queues, out.name("queues"));
    codec.write(types, out.name("types"));
    if (options.lease != null) out.name("lease_ms").number(options.lease.toMillis());
    out.name("worker").begin('{');
    out.name("host").string(host).name("pid").number(pid);
    out.name("sdk").string("java");
    if (version != null) out.name("version").string(version);
    if (!options.labels.isEmpty()) codec.write(options.labels, out.name("labels"));
    claimPrefix = out.end('}').toString();
  }

  /** A heartbeat to send. */
  record Beat(String id, long token, Execution.Report progress) {}

  /** A log line to send. */
  record LineOf(String id, long token, LogBuffer.Line line) {}

  /**
   * @param limit jobs to claim; 0 for no claim
   * @param waitMillis how long the claim waits at the server
   */
  String poll(List<String> acks, List<Beat> beats, List<LineOf> lines, int limit, long waitMillis) {
    JsonWriter out = new JsonWriter().begin('{');
    if (!acks.isEmpty()) {
      out.name("acks").begin('[');
      for (String ack : acks) out.raw(ack);
      out.end(']');
    }
    if (!beats.isEmpty()) {
      out.name("heartbeats").begin('[');
      for (Beat beat : beats) write(beat, out);
      out.end(']');
    }
    if (!lines.isEmpty()) {
      out.name("logs").begin('[');
      for (LineOf line : lines) {
        out.begin('{').name("id").string(line.id()).name("token").number(line.token());
        writeMembers(line.line(), out);
        out.end('}');
      }
      out.end(']');
    }
    if (limit > 0) {
      out.name("claim").begin('{').raw(claimPrefix);
      out.name("limit").number(limit).name("wait_ms").number(waitMillis).end('}');
    }
    return out.end('}').toString();
  }

  static String goodbye() {
    return ApiCodec.STANDARD.write(Map.of("goodbye", true));
  }

  /** Returns an ack with the last lines of its log. */
  static String ack(String members, List<LogBuffer.Line> lines) {
    JsonWriter out = new JsonWriter().begin('{').raw(members);
    if (!lines.isEmpty()) {
      out.name("logs").begin('[');
      for (LogBuffer.Line line : lines) {
        writeMembers(line, out.begin('{'));
        out.end('}');
      }
      out.end(']');
    }
    return out.end('}').toString();
  }

  private static void write(Beat beat, JsonWriter out) {
    out.begin('{').name("id").string(beat.id()).name("token").number(beat.token());
    if (beat.progress() != null) ApiCodec.STANDARD.write(beat.progress(), out.name("progress"));
    out.end('}');
  }

  private static void writeMembers(LogBuffer.Line line, JsonWriter out) {
    ApiCodec.STANDARD.write(line.at(), out.name("at"));
    ApiCodec.STANDARD.write(line.level(), out.name("level"));
    out.name("message").string(line.message());
  }
}
