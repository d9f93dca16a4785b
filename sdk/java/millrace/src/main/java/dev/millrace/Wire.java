package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** Answers of the server, in the API's form. */
final class Wire {
  private Wire() {}

  record Lease(long token, Instant expiresAt, @JsonName("lease_ms") Duration length) {}

  record Claim(
      String id,
      String queue,
      String type,
      Json payload,
      int attempt,
      int maxAttempts,
      Lease lease,
      Instant deadline,
      Duration timeout,
      int priority,
      Instant createdAt,
      List<String> tags,
      Map<String, String> meta,
      String traceparent,
      String tracestate,
      JobSchedule schedule,
      ClaimedWorkflow workflow,
      Map<String, Parent> parents,
      Progress progress) {

    ClaimedJob job() {
      Json checkpoint = progress == null ? null : progress.checkpoint();
      return new ClaimedJob(
          id,
          queue,
          type,
          payload == null ? Json.NULL : payload,
          attempt,
          maxAttempts,
          priority,
          createdAt,
          tags == null ? List.of() : List.copyOf(tags),
          meta == null ? Map.of() : Map.copyOf(meta),
          traceparent,
          tracestate,
          schedule,
          workflow,
          parents == null ? Map.of() : Map.copyOf(parents),
          checkpoint == null || checkpoint.isNull() ? null : checkpoint);
    }

    /** Returns the attempt's timeout, by the server's clock alone; null if unknown or unbounded. */
    Duration length() {
      if (timeout != null || !isBounded() || hidesLength()) return timeout;
      Instant claimedAt = lease.expiresAt().minus(lease.length());
      return Duration.between(claimedAt, deadline);
    }

    boolean isBounded() {
      return deadline != null;
    }

    /** Says whether the lease ends with its attempt: its end then does not tell when it began. */
    boolean hidesLength() {
      return timeout == null && deadline != null && !lease.expiresAt().isBefore(deadline);
    }
  }

  /** The answer to one ack, heartbeat or log line. */
  record Item(int status, String id, boolean cancelRequested, Problems.Wire error) {}

  /** The answer to one job of many. */
  record Stored(int status, String id, JobState state, Problems.Wire error) {
    BatchItem item() {
      return new BatchItem(status, id, state, error == null ? null : error.error());
    }
  }

  record Command(String type, String jobId, long token) {}

  record PollAnswer(
      List<Item> acks,
      List<Item> heartbeats,
      List<Item> logs,
      List<Claim> jobs,
      List<Command> commands) {

    PollAnswer {
      acks = acks == null ? List.of() : acks;
      heartbeats = heartbeats == null ? List.of() : heartbeats;
      logs = logs == null ? List.of() : logs;
      jobs = jobs == null ? List.of() : jobs;
      commands = commands == null ? List.of() : commands;
    }
  }
}
