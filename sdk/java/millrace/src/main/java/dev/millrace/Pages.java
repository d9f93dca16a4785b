package dev.millrace;

import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Function;

/** Iterates over the items of all pages, fetching each page when needed. Not thread-safe. */
final class Pages<T> implements Iterator<T> {
  private final Function<String, Page<T>> fetch;
  private Iterator<T> page = Collections.emptyIterator();
  private String cursor;
  private boolean isLast;

  Pages(String cursor, Function<String, Page<T>> fetch) {
    this.cursor = cursor;
    this.fetch = fetch;
  }

  @Override
  public boolean hasNext() {
    while (!page.hasNext() && !isLast) {
      Page<T> next = fetch.apply(cursor);
      page = next.items().iterator();
      cursor = next.nextCursor();
      isLast = cursor == null;
    }
    return page.hasNext();
  }

  @Override
  public T next() {
    if (!hasNext()) throw new NoSuchElementException();
    return page.next();
  }
}
