// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.time.Duration;

/**
 * Stops the starts of jobs while too many attempts fail.
 *
 * @param failureRate The part of attempts that may fail, above 0. At most 1.
 * @param minAttempts The fewest attempts that say anything. 1 to 100,000.
 * @param window How far back attempts count. 1,000 to 3,600,000 ms.
 * @param open How long nothing starts. 100 to 86,400,000 ms.
 * @param probes Jobs that run after that; the breaker closes if all succeed. 1 to 1,000.
 */
public record Breaker(
    double failureRate, int minAttempts, Duration window, Duration open, int probes) {}
