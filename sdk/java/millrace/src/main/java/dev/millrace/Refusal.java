package dev.millrace;

import java.util.Set;

/** Classifies errors for a worker. */
final class Refusal {
  private static final Set<Integer> FOR_NOW = Set.of(0, 408, 429, 502, 503, 504);
  private static final Set<Integer> CONTENT = Set.of(400, 413, 422);
  private static final Set<Integer> FOR_GOOD = Set.of(400, 401, 403, 404, 422);

  private Refusal() {}

  /** Says whether the same request may succeed later. */
  static boolean isForNow(MillraceException error) {
    return FOR_NOW.contains(error.status()) || error.status() >= 500;
  }

  /** Says whether the request's content may be the reason, not the worker or the connection. */
  static boolean isAboutContent(MillraceException error) {
    return CONTENT.contains(error.status()) && (error.status() == 413 || isOurs(error));
  }

  /** Says whether no claim will ever succeed. For errors of claims that carried no outcomes. */
  static boolean endsWork(MillraceException error) {
    return isDenied(error) || (FOR_GOOD.contains(error.status()) && isOurs(error));
  }

  static boolean isDenied(MillraceException error) {
    return error.status() == 401 || error.status() == 403;
  }

  private static boolean isOurs(MillraceException error) {
    return !error.code().equals("bad_answer");
  }
}
