package dev.millrace;

import java.util.List;

/**
 * A page of a list.
 *
 * @param <T> the type of the items
 * @param items the items; there may be fewer than the limit, or none, even if more pages follow
 * @param nextCursor the cursor of the next page; null on the last one
 */
public record Page<T>(List<T> items, String nextCursor) {}
