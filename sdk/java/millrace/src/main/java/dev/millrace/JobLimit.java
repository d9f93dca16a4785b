package dev.millrace;

/**
 * A limit that a job must pass.
 *
 * @param name the limit's name
 * @param key the job's key if the limit counts by key, 1 to 255 bytes; else null
 * @param cost the cost of a start against the limit's rate, 1 to 1,000,000; null means 1
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
