package dev.millrace.internal.json;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Types with arguments. */
public final class Generics {
  private Generics() {}

  /** Returns a class with type arguments, such as a page of jobs. */
  public static Type of(Class<?> raw, Type... arguments) {
    return new Applied(raw, List.of(arguments));
  }

  static Map<TypeVariable<?>, Type> arguments(Class<?> raw, Type[] arguments) {
    TypeVariable<?>[] variables = raw.getTypeParameters();
    Map<TypeVariable<?>, Type> named = new HashMap<>();
    for (int i = 0; i < variables.length; i++) named.put(variables[i], arguments[i]);
    return named;
  }

  /** Returns the type with its variables replaced; unknown variables become Object. */
  static Type resolve(Type type, Map<TypeVariable<?>, Type> arguments) {
    if (type instanceof TypeVariable<?> variable) {
      return arguments.getOrDefault(variable, Object.class);
    }
    if (!(type instanceof ParameterizedType applied)) return type;
    Type[] resolved =
        Arrays.stream(applied.getActualTypeArguments())
            .map(argument -> resolve(argument, arguments))
            .toArray(Type[]::new);
    return new Applied((Class<?>) applied.getRawType(), List.of(resolved));
  }

  private record Applied(Class<?> raw, List<Type> arguments) implements ParameterizedType {
    @Override
    public Type[] getActualTypeArguments() {
      return arguments.toArray(Type[]::new);
    }

    @Override
    public Type getRawType() {
      return raw;
    }

    @Override
    public Type getOwnerType() {
      return null;
    }
  }
}
