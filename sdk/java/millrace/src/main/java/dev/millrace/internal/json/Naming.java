package dev.millrace.internal.json;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.time.Duration;
import java.util.Locale;

/** The JSON names of the components of records and of the constants of enums. */
public enum Naming {
  /** As in the source. */
  AS_IS,
  /** {@code templateId} becomes {@code template_id}. */
  SNAKE,
  /** As in the API: SNAKE, durations are numbers named {@code *_ms}, enums are in lower case. */
  API;

  String member(String component, Type type) {
    if (this == AS_IS) return component;
    String snake = snake(component);
    return this == API && isDuration(type) ? snake + "_ms" : snake;
  }

  String constant(Enum<?> constant) {
    return this == API ? constant.name().toLowerCase(Locale.ROOT) : constant.name();
  }

  private static boolean isDuration(Type type) {
    if (type instanceof ParameterizedType list) return isDuration(list.getActualTypeArguments()[0]);
    return type == Duration.class;
  }

  private static String snake(String name) {
    StringBuilder snake = new StringBuilder(name.length() + 4);
    for (char c : name.toCharArray()) {
      if (Character.isUpperCase(c)) snake.append('_');
      snake.append(Character.toLowerCase(c));
    }
    return snake.toString();
  }
}
