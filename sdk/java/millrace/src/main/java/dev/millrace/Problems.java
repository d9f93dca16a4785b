package dev.millrace;

import dev.millrace.MillraceException.Fault;
import dev.millrace.MillraceException.Problem;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

/** Creates errors from failed requests. */
final class Problems {
  private static final int MAX_QUOTE = 200;

  private Problems() {}

  /** A problem in the API's form. */
  record Wire(
      String code,
      int status,
      String title,
      String detail,
      String requestId,
      List<WireFault> errors) {

    Problem problem(int answerStatus, Duration retryAfter) {
      List<Fault> faults =
          errors == null ? List.of() : errors.stream().map(WireFault::fault).toList();
      String message = detail == null || detail.isEmpty() ? title : detail;
      for (Fault fault : faults) message += "; " + fault.where() + ": " + fault.detail();
      return new Problem(
          code, status == 0 ? answerStatus : status, message, faults, requestId, retryAfter);
    }

    // Returns the error of one refused item of many.
    MillraceException error() {
      return MillraceException.of(problem(0, null), null);
    }
  }

  /** A fault in the API's form. */
  record WireFault(String pointer, String parameter, String header, String detail) {
    Fault fault() {
      String where = pointer != null ? pointer : parameter != null ? parameter : header;
      return new Fault(where, detail);
    }
  }

  static MillraceException read(HttpResponse<byte[]> response) {
    String body = new String(response.body(), StandardCharsets.UTF_8);
    Duration retryAfter = retryAfter(response);
    try {
      Wire wire = ApiCodec.STANDARD.read(body, Wire.class);
      if (wire != null && wire.code() != null) {
        return MillraceException.of(wire.problem(response.statusCode(), retryAfter), null);
      }
    } catch (CodecException notOurs) {
      // The answer comes from something between the client and the server.
    }
    return badAnswer(response.statusCode(), body, retryAfter);
  }

  static MillraceException badAnswer(int status, String body, Duration retryAfter) {
    String quote = body.length() > MAX_QUOTE ? body.substring(0, MAX_QUOTE) + "..." : body;
    String message = "status " + status + ", but no answer of Millrace's: " + quote;
    Problem problem = new Problem("bad_answer", status, message, List.of(), null, retryAfter);
    return MillraceException.of(problem, null);
  }

  static MillraceException unreachable(String url, Throwable cause) {
    String why = cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    return MillraceException.of("unreachable", url + " can't be reached: " + why, cause);
  }

  private static Duration retryAfter(HttpResponse<byte[]> response) {
    try {
      return response
          .headers()
          .firstValue("Retry-After")
          .map(text -> Duration.ofSeconds(Long.parseLong(text.trim())))
          .orElse(null);
    } catch (NumberFormatException date) {
      return null;
    }
  }
}
