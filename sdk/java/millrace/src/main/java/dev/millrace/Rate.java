// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;

/**
 * A token bucket of starts.
 *
 * @param limit Starts in each period. 1 to 1,000,000,000.
 * @param per The period. 1 to 86,400,000 ms.
 * @param burst The most starts at once after a pause; {@code limit} by default. 1 to 1,000,000,000.
 */
public record Rate(int limit, Duration per, Integer burst) {}
