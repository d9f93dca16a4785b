package dev.millrace;

import dev.millrace.MillraceException.Fault;
import dev.millrace.MillraceException.Problem;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The bounds of a submission, as the server checks them. */
final class FakeChecks {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._:/-]{1,128}");
  private static final Pattern KEY = Pattern.compile("[!-~]{1,255}");
  private static final Pattern UUID =
      Pattern.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  private static final long MAX_DELAY_MILLIS = 315_360_000_000L;
  private static final int MAX_PAYLOAD = 1 << 20;
  private static final int MAX_TAGS = 32;

  private FakeChecks() {}

  static void check(NewJob job, Json payload) {
    List<Fault> faults = new ArrayList<>();
    name(job, "type", faults);
    name(job, "queue", faults);
    range(job, "priority", -32_768, 32_767, faults);
    range(job, "max_attempts", 1, 1_000, faults);
    duration(job, "delay_ms", 0, MAX_DELAY_MILLIS, faults);
    duration(job, "expires_in_ms", 0, MAX_DELAY_MILLIS, faults);
    duration(job, "timeout_ms", 1, MAX_DELAY_MILLIS, faults);
    duration(job, "lease_ms", 1_000, 86_400_000, faults);
    pattern(job, "id", UUID, faults);
    pattern(job, "idempotency_key", KEY, faults);
    List<String> tags = job.get("tags");
    if (tags != null && tags.size() > MAX_TAGS) faults.add(fault("tags", "has more than 32"));
    if (payload.text().length() > MAX_PAYLOAD) faults.add(fault("payload", "is over 1 MiB"));
    both(job, "run_at", "delay_ms", faults);
    both(job, "expires_at", "expires_in_ms", faults);
    if (!faults.isEmpty())
      throw refusal(422, "validation_failed", "the submission is not valid: " + faults, faults);
  }

  static MillraceException refusal(int status, String code, String message, List<Fault> faults) {
    return MillraceException.of(new Problem(code, status, message, faults, null, null), null);
  }

  /**
   * Returns the refusal as that of one job of many.
   *
   * @param at where the job is in the request
   */
  static MillraceException within(MillraceException refused, String at) {
    List<Fault> faults =
        refused.errors().stream()
            .map(fault -> new Fault(at + fault.where(), fault.detail()))
            .toList();
    if (faults.isEmpty() && refused.status() == 422) {
      List<Fault> whole = List.of(new Fault(at, refused.getMessage()));
      return refusal(422, "validation_failed", "the server refuses some of the jobs", whole);
    }
    return refusal(refused.status(), refused.code(), refused.getMessage(), faults);
  }

  private static Fault fault(String member, String detail) {
    return new Fault("/" + member, detail);
  }

  private static void name(NewJob job, String member, List<Fault> faults) {
    pattern(job, member, NAME, faults);
  }

  private static void pattern(NewJob job, String member, Pattern pattern, List<Fault> faults) {
    String value = job.get(member);
    if (value != null && !pattern.matcher(value).matches()) {
      faults.add(fault(member, "must match " + pattern));
    }
  }

  private static void range(NewJob job, String member, int least, int most, List<Fault> faults) {
    Integer value = job.get(member);
    if (value != null && (value < least || value > most)) {
      faults.add(fault(member, "must be from " + least + " to " + most));
    }
  }

  private static void duration(
      NewJob job, String member, long least, long most, List<Fault> faults) {
    Duration value = job.get(member);
    if (value != null && (value.toMillis() < least || value.toMillis() > most)) {
      faults.add(fault(member, "must be from " + least + " to " + most));
    }
  }

  private static void both(NewJob job, String one, String other, List<Fault> faults) {
    if (job.get(one) != null && job.get(other) != null) {
      faults.add(fault(other, "not together with " + one));
    }
  }
}
