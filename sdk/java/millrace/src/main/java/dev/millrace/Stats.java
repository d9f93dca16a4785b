// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Numbers of events in columns of time.
 *
 * @param from when it begins
 * @param step the width of a column
 * @param groups the columns, by group
 * @param deploys Versions of workers that were first seen within the window. With {@code by=type}
 *     each entry is for a type of job that the version ran.
 * @param gaps periods without data, because the log no longer had them
 * @param asOf the time up to which everything is counted
 */
public record Stats(
    Instant from,
    Duration step,
    List<Group> groups,
    List<Deploy> deploys,
    List<Gap> gaps,
    Instant asOf) {
  /**
   * Columns of equal width, oldest first; each list has the same number of them.
   *
   * @param queue with {@code by=queue}; null of the group {@code others}
   * @param type with {@code by=type}; null of the group {@code others}
   * @param fairKey with {@code by=fair_key}; null of the group {@code others}
   * @param tag with {@code by=tag}; null of the group {@code others}
   * @param others The sum of all that have no group of their own. {@code true}, or absent.
   * @param submitted jobs that were submitted
   * @param started attempts that began
   * @param succeeded attempts that succeeded
   * @param failed attempts that failed
   * @param dead jobs that failed for good
   * @param waitMs time from due to started
   * @param runMs time from started to the end of the attempt
   */
  public record Group(
      String queue,
      String type,
      String fairKey,
      String tag,
      boolean others,
      List<Long> submitted,
      List<Long> started,
      List<Long> succeeded,
      List<Long> failed,
      List<Long> dead,
      Percentiles waitMs,
      Percentiles runMs) {}

  /**
   * A time for which the server has no figures.
   *
   * @param from when it begins
   * @param to when it ends
   */
  public record Gap(Instant from, Instant to) {}

  /**
   * Milliseconds by column; null where nothing was measured.
   *
   * @param p50 milliseconds; null if nothing ran
   * @param p95 milliseconds; null if nothing ran
   * @param p99 milliseconds; null if nothing ran
   */
  public record Percentiles(List<Double> p50, List<Double> p95, List<Double> p99) {}

  /**
   * The first time that a version of a program was seen.
   *
   * @param at when it was
   * @param type the type's name
   * @param version the version of the program
   * @param workerSdk the SDK of its worker
   */
  public record Deploy(Instant at, String type, String version, String workerSdk) {}
}
