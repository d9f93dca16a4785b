package dev.millrace;

import java.util.Map;

/**
 * Members to add to a workflow that exists. They may need members that it has. Its methods change
 * it; not thread-safe.
 *
 * <pre>{@code
 * NewMembers pages = NewMembers.create();
 * for (String url : urls) pages.add(url, FETCH.job(url)).needs("login");
 * client.addMembers(id, pages);
 * }</pre>
 */
public final class NewMembers extends Graph<NewMembers> {
  private NewMembers() {
    super(Map.of());
  }

  /**
   * Returns an addition without members.
   *
   * @return the addition
   */
  public static NewMembers create() {
    return new NewMembers();
  }

  /**
   * Names the member that adds them, while it is active. A closed workflow takes no others.
   *
   * @param ref its ref, or {@code @} and its number
   * @return this
   */
  public NewMembers by(String ref) {
    return with("by", ref);
  }

  /**
   * Closes the workflow, too.
   *
   * @return this
   */
  public NewMembers close() {
    return with("close", true);
  }

  /**
   * Sets a key by which the server recognizes a repeated addition. By default refs serve, and the
   * client makes a key if a member has none.
   *
   * @param key 1 to 255 visible characters of ASCII
   * @return this
   */
  public NewMembers idempotencyKey(String key) {
    return with("idempotency_key", key);
  }
}
