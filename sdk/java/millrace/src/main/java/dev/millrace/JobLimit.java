// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * A limit that a job must pass.
 *
 * @param name the limit's name
 * @param key The job's key, if the limit counts by key. 1 to 255 characters.
 * @param cost The tokens of the limit's rate that a start takes. Default {@code 1}. 1 to 1,000,000.
 */
public record JobLimit(String name, String key, Integer cost) {
  /**
   * Returns a limit that does not count by key.
   *
   * @param name the limit's name
   * @return the limit
   */
  public static JobLimit of(String name) {
    return new JobLimit(name, null, null);
  }

  /**
   * Returns a limit that counts by key.
   *
   * @param name the limit's name
   * @param key the job's key
   * @return the limit
   */
  public static JobLimit of(String name, String key) {
    return new JobLimit(name, key, null);
  }
}
