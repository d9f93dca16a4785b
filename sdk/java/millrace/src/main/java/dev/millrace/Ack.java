package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.time.Instant;
import java.util.List;

/**
 * An outcome on its way to the server. The same outcome is sent again until it is answered.
 * Immutable.
 *
 * @param json the JSON to send
 * @param since when it was ready to be sent, on the monotonic clock
 * @param failures how often it failed when sent alone
 * @param isSubstitute whether it replaces an outcome that the server refused
 */
record Ack(String id, long token, String json, long since, int failures, boolean isSubstitute) {
  private static final int MAX_MESSAGE = 4 << 10;

  /** Writes the members of an attempt's ack except its log lines. Runs in the handler's thread. */
  static String write(Execution execution, Outcome outcome, ApiCodec codec) {
    try {
      return encode(execution, outcome, codec);
    } catch (CodecException refused) {
      String why = "the result has no form in JSON: " + Described.message(refused);
      return withoutResult(execution, refusal(why));
    } catch (RuntimeException | Error failed) { // the application's codec, or a value's methods
      String why = "the result can't be encoded: " + Described.text(failed);
      return withoutResult(execution, refusal(why));
    }
  }

  /** Writes the members of the ack of an attempt that failed within this library. */
  static String broken(Execution execution, Throwable bug) {
    return withoutResult(execution, new Outcome.Failed(Outcome.Failure.of(bug), true, null));
  }

  private static String withoutResult(Execution execution, Outcome.Failed outcome) {
    String id = execution.job().id();
    return write(
        id, execution.token(), outcome, ApiCodec.STANDARD, List.of(), Growth.NONE, List.of());
  }

  static Outcome.Failed refusal(String why) {
    return new Outcome.Failed(new Outcome.Failure("outcome_refused", why, null), true, null);
  }

  /** Returns an outcome that no handler produced. */
  static Ack of(String id, long token, Outcome outcome) {
    return new Ack(id, token, withoutLines(id, token, outcome), Clock.now(), 0, false);
  }

  /** Returns the failure that replaces this outcome, which the server refused. */
  Ack substitute(String why) {
    return new Ack(id, token, withoutLines(id, token, refusal(why)), Clock.now(), 0, true);
  }

  private static String withoutLines(String id, long token, Outcome outcome) {
    String members =
        write(id, token, outcome, ApiCodec.STANDARD, List.of(), Growth.NONE, List.of());
    return PollWriter.ack(members, List.of());
  }

  Ack at(long when, int failed) {
    return new Ack(id, token, json, when, failed, isSubstitute);
  }

  int size() {
    return json.length();
  }

  private static String encode(Execution execution, Outcome outcome, ApiCodec codec) {
    if (outcome instanceof Outcome.Cancelled cancelled && cancelled.reason() != null) {
      execution.logs().add(new LogBuffer.Line(Instant.now(), LogLevel.INFO, cancelled.reason()));
    }
    boolean isSuccess = outcome instanceof Outcome.Succeeded;
    List<NewJob> enqueued = isSuccess ? execution.enqueued() : List.of();
    Growth growth = isSuccess ? execution.growth() : Growth.NONE;
    String id = execution.job().id();
    return write(id, execution.token(), outcome, codec, enqueued, growth, execution.wishes());
  }

  private static String write(
      String id,
      long token,
      Outcome outcome,
      ApiCodec codec,
      List<NewJob> enqueued,
      Growth growth,
      List<Execution.SlowDown> wishes) {
    JsonWriter out = new JsonWriter();
    out.name("id").string(id).name("token").number(token).name("outcome");
    if (outcome instanceof Outcome.Succeeded success) {
      out.string("succeeded");
      if (success.result() != null) {
        out.name("result").raw(Json.encoded(success.result(), codec.payloads()).text());
      }
    } else if (outcome instanceof Outcome.Failed failed) {
      writeFailure(failed, out.string("failed"));
    } else if (outcome instanceof Outcome.Snoozed snoozed) {
      out.string("snoozed").name("delay_ms").number(snoozed.delay().toMillis());
    } else if (outcome instanceof Outcome.Cancelled) {
      out.string("cancelled");
    } else {
      out.string("released");
    }
    if (!enqueued.isEmpty()) {
      out.name("enqueue").begin('[');
      for (NewJob job : enqueued) codec.writeMembers(job.named(), out);
      out.end(']');
    }
    if (!growth.isEmpty()) growth.write(codec, out.name("grow"));
    if (!wishes.isEmpty()) {
      out.name("slow_down").begin('[');
      for (Execution.SlowDown wish : wishes) {
        out.begin('{').name("limit").string(wish.limit());
        if (wish.key() != null) out.name("key").string(wish.key());
        out.name("for_ms").number(wish.time().toMillis()).end('}');
      }
      out.end(']');
    }
    return out.toString();
  }

  private static void writeFailure(Outcome.Failed failed, JsonWriter out) {
    Outcome.Failure error = failed.error();
    out.name("error").begin('{');
    out.name("type").string(Text.whole(error.type()));
    String message = error.message() == null ? "" : error.message();
    out.name("message").string(Text.whole(Text.cut(message, MAX_MESSAGE)));
    if (error.stack() != null) out.name("stack").string(Text.whole(error.stack()));
    if (!failed.retryable()) out.name("retryable").raw("false");
    out.end('}');
    if (failed.delay() != null) out.name("delay_ms").number(failed.delay().toMillis());
  }
}
