package dev.millrace;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * A call of {@code millrace.enqueue}, which submits a job in the transaction of its connection. All
 * arguments travel as text, so that any driver of PostgreSQL will do.
 */
final class SqlSubmission {
  private final StringBuilder sql = new StringBuilder("SELECT millrace.enqueue(?, ?::jsonb");
  private final List<String> arguments = new ArrayList<>();

  SqlSubmission(NewJob job, ApiCodec codec) {
    arguments.add(job.type());
    arguments.add(Json.encoded(job.get("payload"), codec.payloads()).text());
    job.named()
        .forEach(
            (name, value) -> {
              if (value != null) add(name, value, codec);
            });
    sql.append(")");
  }

  private void add(String name, Object value, ApiCodec codec) {
    switch (name) {
      case "type", "payload" -> {}
      case "id" -> argument(name, "uuid", value.toString());
      case "run_at", "expires_at" -> argument(name, "timestamptz", ((Instant) value).toString());
      case "delay_ms", "expires_in_ms", "lease_ms", "timeout_ms" ->
          interval(name.substring(0, name.length() - "_ms".length()), (Duration) value);
      case "retry", "limits", "meta" -> argument(name, "jsonb", codec.write(value));
      case "priority", "max_attempts" -> argument(name, "integer", value.toString());
      case "order_on_failure" -> argument(name, "text", JobFilter.words((Enum<?>) value));
      case "tags" -> {
        sql.append(", tags => ARRAY(SELECT jsonb_array_elements_text(?::jsonb))");
        arguments.add(codec.write(value));
      }
      case "unique" -> unique((Unique) value);
      default -> argument(name, "text", value.toString());
    }
  }

  private void unique(Unique unique) {
    argument("unique_key", "text", unique.key());
    if (unique.held() != null) interval("unique_for", unique.held());
    if (unique.onConflict() != null) {
      argument("on_conflict", "text", JobFilter.words(unique.onConflict()));
    }
    if (unique.maxWait() != null) interval("max_wait", unique.maxWait());
  }

  private void interval(String name, Duration value) {
    argument(name, "interval", value.toMillis() + " milliseconds");
  }

  private void argument(String name, String type, String value) {
    sql.append(", ").append(name).append(" => ?::").append(type);
    arguments.add(value);
  }

  /** Submits the job. Returns its id. */
  String run(Connection connection) throws SQLException {
    if (connection.getAutoCommit()) {
      throw new IllegalStateException(
          "the connection commits by itself: begin a transaction with setAutoCommit(false), or use"
              + " submit");
    }
    try (PreparedStatement call = connection.prepareStatement(sql.toString())) {
      for (int i = 0; i < arguments.size(); i++) call.setString(i + 1, arguments.get(i));
      try (ResultSet row = call.executeQuery()) {
        row.next();
        return row.getString(1);
      }
    }
  }
}
