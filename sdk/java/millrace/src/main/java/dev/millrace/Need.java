// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * An end of another member that a member waits for.
 *
 * @param ref The ref of another member, or {@code &#64;} and its number. 1 to 128 characters.
 * @param on {@code failed}: a member that is released so catches the failure. {@code ended}:
 *     succeeded, failed or skipped.
 */
public record Need(String ref, On on) {
  /** An end of a member. */
  public enum On {
    /** Its job has succeeded. */
    SUCCEEDED,
    /** It has failed. A member that is released so catches the failure. */
    FAILED,
    /** It has succeeded, failed or was skipped. */
    ENDED
  }

  /**
   * Returns the need that a member has succeeded.
   *
   * @param ref the member's ref
   * @return the need
   */
  public static Need of(String ref) {
    return new Need(ref, On.SUCCEEDED);
  }

  /**
   * Returns the need that a member has failed.
   *
   * @param ref the member's ref
   * @return the need
   */
  public static Need failed(String ref) {
    return new Need(ref, On.FAILED);
  }

  /**
   * Returns the need that a member has ended in any way.
   *
   * @param ref the member's ref
   * @return the need
   */
  public static Need ended(String ref) {
    return new Need(ref, On.ENDED);
  }
}
