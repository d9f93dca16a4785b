package dev.millrace;

/**
 * A limit that a job must pass.
 *
 * @param name the limit's name
 * @param key where the limit counts by key: the job's, 1 to 255 bytes; else null
 * @param cost of a start, against the limit's rate: 1 to 1,000,000; null: 1
 */
public record JobLimit(String name, String key, Integer cost) {
  /**
   * A limit that does not count by key.
   *
   * @param name the limit's name
   * @return the limit
   */
  public static JobLimit of(String name) {
    return new JobLimit(name, null, null);
  }

  /**
   * A limit that counts by key.
   *
   * @param name the limit's name
   * @param key the job's key of it
   * @return the limit
   */
  public static JobLimit of(String name, String key) {
    return new JobLimit(name, key, null);
  }
}
