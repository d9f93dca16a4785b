package dev.millrace.internal.json;

import dev.millrace.CodecException;
import dev.millrace.JsonName;
import java.lang.annotation.Annotation;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** The structure of a record class, read once by reflection. Immutable. */
final class RecordShape {
  final String[] names;
  final Type[] types;
  private final Class<?> type;
  private final Constructor<?> constructor;
  private final Method[] accessors;
  private final Map<String, Integer> places = new HashMap<>();
  private final Object[] absent;
  private final boolean[] mayLack;

  RecordShape(Class<?> type, Naming naming) {
    RecordComponent[] components = type.getRecordComponents();
    this.type = type;
    names = new String[components.length];
    types = new Type[components.length];
    accessors = new Method[components.length];
    absent = new Object[components.length];
    mayLack = new boolean[components.length];
    for (int i = 0; i < components.length; i++) {
      types[i] = components[i].getGenericType();
      JsonName own = components[i].getAnnotation(JsonName.class);
      names[i] = own != null ? own.value() : naming.member(components[i].getName(), types[i]);
      places.put(names[i], i);
      absent[i] = absentValue(components[i].getType());
      mayLack[i] = components[i].getType() == Optional.class || isNullable(components[i]);
      accessors[i] = components[i].getAccessor();
    }
    try {
      constructor =
          type.getDeclaredConstructor(
              Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
      constructor.setAccessible(true);
      for (Method accessor : accessors) accessor.setAccessible(true);
    } catch (ReflectiveOperationException | RuntimeException error) {
      throw new CodecException(
          "the record " + type.getName() + " is not open to reflection", error);
    }
  }

  // Returns -1 for a member that the record does not have.
  int placeOf(String name) {
    return places.getOrDefault(name, -1);
  }

  /** Says whether a member may be missing: it is an Optional, or nullable by an annotation. */
  boolean mayLack(int place) {
    return mayLack[place];
  }

  Object[] emptyValues() {
    return absent.clone();
  }

  Object make(Object[] values) {
    try {
      return constructor.newInstance(values);
    } catch (InvocationTargetException refused) {
      Throwable cause = refused.getCause();
      throw new CodecException(type.getSimpleName() + ": " + cause.getMessage(), cause);
    } catch (ReflectiveOperationException | IllegalArgumentException error) {
      throw new CodecException("a value of " + type.getName() + " can't be made", error);
    }
  }

  Object get(Object value, int place) {
    try {
      return accessors[place].invoke(value);
    } catch (ReflectiveOperationException error) {
      throw new CodecException("a value of " + type.getName() + " can't be read", error);
    }
  }

  // By any annotation of this name: JSpecify's, Jakarta's, Spring's or the application's own.
  private static boolean isNullable(RecordComponent component) {
    return Stream.of(
            component.getAnnotations(),
            component.getAnnotatedType().getAnnotations(),
            component.getAccessor().getAnnotations())
        .flatMap(Arrays::stream)
        .map(Annotation::annotationType)
        .anyMatch(type -> type.getSimpleName().equals("Nullable"));
  }

  private static Object absentValue(Class<?> type) {
    if (type == Optional.class) return Optional.empty();
    if (!type.isPrimitive()) return null;
    if (type == boolean.class) return false;
    if (type == char.class) return '\0';
    if (type == long.class) return 0L;
    if (type == double.class) return 0.0;
    if (type == float.class) return 0f;
    if (type == short.class) return (short) 0;
    if (type == byte.class) return (byte) 0;
    return 0;
  }
}
