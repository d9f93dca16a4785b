// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Instant;
import java.util.List;

/**
 * Why a job is not running.
 *
 * @param id its id
 * @param state {@code scheduled} waits for {@code run_at}, {@code retrying} for its backoff, {@code
 *     blocked} for other jobs. Terminal are {@code succeeded}, {@code dead}, {@code cancelled} and
 *     {@code expired} (not started before {@code expires_at}).
 * @param at when it was
 * @param summary sentences for a person
 * @param blocking Every reason why the job waits, in the order in which a claim meets it. Empty:
 *     the next claim of its queue and type gets it.
 * @param notes {@code no_worker}: nobody has asked for its queue and type for a minute
 */
public record Why(
    String id,
    JobState state,
    Instant at,
    String summary,
    List<Queue.Blocker> blocking,
    List<Note> notes) {
  /**
   * Another fact that explains the wait.
   *
   * @param code what explains the wait
   * @param lastSeen when such a worker was last seen
   */
  public record Note(String code, Instant lastSeen) {}
}
