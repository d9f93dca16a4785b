package dev.millrace;

import java.util.List;

/**
 * A page of a list.
 *
 * @param <T> what is listed
 * @param items may be fewer than the limit, or none, also if more pages follow
 * @param nextCursor for the next page; null on the last one
 */
public record Page<T>(List<T> items, String nextCursor) {}
