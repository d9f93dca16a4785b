package dev.millrace;

import java.util.Map;

/** Selects members of a workflow, and a page of them. Immutable. */
public final class MemberFilter extends Members<MemberFilter> {
  private MemberFilter(Map<String, Object> named) {
    super(named);
  }

  /**
   * Returns a filter that selects all members.
   *
   * @return the filter
   */
  public static MemberFilter all() {
    return new MemberFilter(Map.of());
  }

  @Override
  MemberFilter copy(Map<String, Object> named) {
    return new MemberFilter(named);
  }

  /**
   * Selects members in a state.
   *
   * @param state the state
   * @return a changed copy
   */
  public MemberFilter state(MemberState state) {
    return with("state", JobFilter.words(state));
  }

  /**
   * Adds what the members contain only on request.
   *
   * @param include job, result or both
   * @return a changed copy
   */
  public MemberFilter include(Member.Include... include) {
    return with("include", JobFilter.words(include));
  }

  /**
   * Sets the maximum number of members in a page.
   *
   * @param limit from 1 to 1,000; the default is 50
   * @return a changed copy
   */
  public MemberFilter limit(int limit) {
    return with("limit", limit);
  }

  /**
   * Sets where the page begins.
   *
   * @param cursor the {@code nextCursor} of the previous page; null for the first one
   * @return a changed copy
   */
  public MemberFilter cursor(String cursor) {
    return cursor == null ? without("cursor") : with("cursor", cursor);
  }

  String cursor() {
    return get("cursor");
  }
}
