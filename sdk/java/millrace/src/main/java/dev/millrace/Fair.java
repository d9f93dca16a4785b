// Components: made by tools/types from docs/reference/openapi.yaml; do not edit.
package dev.millrace;

import java.util.Map;

/**
 * How a queue is shared.
 *
 * @param weights at most 1,000 keys with a weight of their own
 * @param defaultWeight Default {@code 1}. 1 to 1,000.
 * @param by {@code time}: keys share running time. {@code starts}: keys share starts. Default
 *     {@code time}.
 */
public record Fair(Map<String, Integer> weights, Integer defaultWeight, String by) {}
