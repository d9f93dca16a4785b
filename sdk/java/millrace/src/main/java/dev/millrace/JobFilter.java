package dev.millrace;

import java.time.Instant;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Selects jobs to list, and a page of them. Members that are not set match all jobs. Immutable. */
public final class JobFilter extends Members<JobFilter> {
  private JobFilter(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a filter that selects all jobs.
   *
   * @return the filter
   */
  public static JobFilter all() {
    return new JobFilter(Map.of());
  }

  @Override
  JobFilter copy(Map<String, Object> named) {
    return new JobFilter(named);
  }

  /**
   * Selects jobs in one of these states.
   *
   * @param states the states
   * @return a changed copy
   */
  public JobFilter state(JobState... states) {
    return with("state", words(states));
  }

  /**
   * Selects jobs of a queue.
   *
   * @param queue its name
   * @return a changed copy
   */
  public JobFilter queue(String queue) {
    return with("queue", queue);
  }

  /**
   * Selects jobs of a type.
   *
   * @param type its name
   * @return a changed copy
   */
  public JobFilter type(String type) {
    return with("type", type);
  }

  /**
   * Selects jobs with a tag.
   *
   * @param tag the tag
   * @return a changed copy
   */
  public JobFilter tag(String tag) {
    return with("tag", tag);
  }

  /**
   * Selects jobs that were submitted at this time or later.
   *
   * @param time the instant
   * @return a changed copy
   */
  public JobFilter createdAfter(Instant time) {
    return with("created_after", time);
  }

  /**
   * Selects jobs that were submitted before this time.
   *
   * @param time the instant
   * @return a changed copy
   */
  public JobFilter createdBefore(Instant time) {
    return with("created_before", time);
  }

  /**
   * Selects jobs that match all words, such as {@code state:dead error~timeout payload.user.id:42}.
   *
   * @param words at most 1,024 bytes
   * @return a changed copy
   */
  public JobFilter query(String words) {
    return with("q", words);
  }

  /**
   * Waits until the list shows all changes acknowledged before the call.
   *
   * @return a changed copy
   */
  public JobFilter fresh() {
    return with("fresh", true);
  }

  /**
   * Adds members that the jobs contain only on request.
   *
   * @param include payload, result or both
   * @return a changed copy
   */
  public JobFilter include(Job.Include... include) {
    return with("include", words(include));
  }

  /**
   * Sets the maximum number of jobs in a page.
   *
   * @param limit from 1 to 1,000; the default is 50
   * @return a changed copy
   */
  public JobFilter limit(int limit) {
    return with("limit", limit);
  }

  /**
   * Sets where the page begins.
   *
   * @param cursor the {@code nextCursor} of the previous page; null for the first one
   * @return a changed copy
   */
  public JobFilter cursor(String cursor) {
    return cursor == null ? without("cursor") : with("cursor", cursor);
  }

  String cursor() {
    return get("cursor");
  }

  static String words(Enum<?>... words) {
    return Arrays.stream(words)
        .map(word -> word.name().toLowerCase(Locale.ROOT))
        .collect(Collectors.joining(","));
  }
}
