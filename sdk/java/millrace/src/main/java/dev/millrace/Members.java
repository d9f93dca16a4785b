package dev.millrace;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The members of a request that were set, by their names in the API. Immutable: setting a member
 * returns a copy.
 */
abstract class Members<T extends Members<T>> {
  private final Map<String, Object> named;

  Members(Map<String, Object> named) {
    this.named = Collections.unmodifiableMap(named);
  }

  abstract T copy(Map<String, Object> named);

  Map<String, Object> named() {
    return named;
  }

  @SuppressWarnings("unchecked")
  <V> V get(String name) {
    return (V) named.get(name);
  }

  T with(String name, Object value) {
    Map<String, Object> changed = new LinkedHashMap<>(named);
    changed.put(name, value);
    return copy(changed);
  }

  T without(String name) {
    Map<String, Object> changed = new LinkedHashMap<>(named);
    changed.remove(name);
    return copy(changed);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Members<?> members
        && members.getClass() == getClass()
        && members.named.equals(named);
  }

  @Override
  public int hashCode() {
    return named.hashCode();
  }

  @Override
  public String toString() {
    return getClass().getSimpleName() + named;
  }
}
