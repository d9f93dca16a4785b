// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

/**
 * A limit that each job of a queue must pass.
 *
 * @param name the limit's name
 * @param key The job's key, if the limit counts by key. 1 to 255 characters.
 * @param keyFrom The key is the job's own {@code fair_key}. The limit does not apply to a job
 *     without one.
 * @param cost Default {@code 1}. 1 to 1,000,000.
 */
public record QueueLimit(String name, String key, String keyFrom, Integer cost) {}
