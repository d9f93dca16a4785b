package dev.millrace.internal.json;

import dev.millrace.CodecException;
import dev.millrace.Json;
import java.lang.reflect.Array;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Converts JSON to Java values and back. Thread-safe. */
public final class Binding {
  /** Reads the next value; a null in the text gives null. */
  private interface Decoder {
    Object read(JsonReader in);
  }

  private static final DateTimeFormatter API_TIME =
      new DateTimeFormatterBuilder().appendInstant(3).toFormatter();

  /** The handling of components that are null. */
  public enum Nulls {
    KEPT,
    LEFT_OUT
  }

  private final Naming naming;
  private final Nulls nulls;
  private final Function<String, Json> toJson;
  private final Map<Type, Decoder> decoders = new ConcurrentHashMap<>();
  private final Map<Class<?>, RecordShape> shapes = new ConcurrentHashMap<>();

  /**
   * @param toJson creates values of type {@link Json} from their texts
   */
  public Binding(Naming naming, Nulls nulls, Function<String, Json> toJson) {
    this.naming = naming;
    this.nulls = nulls;
    this.toJson = toJson;
  }

  public Object read(String text, Type type) {
    JsonReader in = new JsonReader(text);
    Object value = decoder(type).read(in);
    in.end();
    return value;
  }

  public String write(Object value) {
    JsonWriter out = new JsonWriter();
    write(value, out);
    return out.toString();
  }

  public void write(Object value, JsonWriter out) {
    if (value == null) {
      out.raw("null");
    } else if (value instanceof CharSequence || value instanceof Character) {
      out.string(value.toString());
    } else if (value instanceof Number number) {
      writeNumber(number, out);
    } else if (value instanceof Boolean || value instanceof Json) {
      out.raw(value.toString());
    } else if (value instanceof Enum<?> constant) {
      out.string(naming.constant(constant));
    } else if (value instanceof Record) {
      writeRecord(value, out);
    } else if (value instanceof Map<?, ?> map) {
      out.begin('{');
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        write(entry.getValue(), out.name(nameOf(entry.getKey())));
      }
      out.end('}');
    } else if (value instanceof Iterable<?> elements) {
      out.begin('[');
      for (Object element : elements) write(element, out);
      out.end(']');
    } else if (value.getClass().isArray()) {
      out.begin('[');
      for (int i = 0; i < Array.getLength(value); i++) write(Array.get(value, i), out);
      out.end(']');
    } else if (value instanceof Optional<?> optional) {
      write(optional.orElse(null), out);
    } else if (value instanceof Duration duration && naming == Naming.API) {
      out.number(duration.toMillis());
    } else if (value instanceof Instant instant && naming == Naming.API) {
      out.string(API_TIME.format(instant));
    } else if (PARSERS.containsKey(value.getClass())) {
      out.string(value.toString());
    } else {
      throw new CodecException(
          "a value of " + value.getClass().getName() + " has no form in JSON; records have one");
    }
  }

  private void writeRecord(Object value, JsonWriter out) {
    RecordShape shape = shape(value.getClass());
    out.begin('{');
    for (int i = 0; i < shape.names.length; i++) {
      Object member = shape.get(value, i);
      // The API does not accept null for a member that may be left out.
      if (member != null || nulls == Nulls.KEPT) write(member, out.name(shape.names[i]));
    }
    out.end('}');
  }

  private static void writeNumber(Number number, JsonWriter out) {
    if (number instanceof Double || number instanceof Float) {
      double value = number.doubleValue();
      if (!Double.isFinite(value)) throw new CodecException(number + " has no form in JSON");
      out.raw(number.toString());
    } else if (number instanceof BigDecimal || number instanceof BigInteger) {
      out.raw(number.toString());
    } else {
      out.number(number.longValue());
    }
  }

  private static String nameOf(Object key) {
    if (key == null) throw new CodecException("a null can't be the name of a member");
    return key instanceof Enum<?> constant ? constant.name() : key.toString();
  }

  private RecordShape shape(Class<?> type) {
    RecordShape known = shapes.get(type);
    if (known != null) return known;
    return shapes.computeIfAbsent(type, missing -> new RecordShape(missing, naming));
  }

  // Not computeIfAbsent: a type may contain itself.
  private Decoder decoder(Type type) {
    Decoder known = decoders.get(type);
    if (known != null) return known;
    Decoder made = makeDecoder(type);
    decoders.put(type, made);
    return made;
  }

  private Decoder makeDecoder(Type type) {
    if (type instanceof Class<?> raw) return classDecoder(raw);
    if (type instanceof WildcardType wildcard) return decoder(wildcard.getUpperBounds()[0]);
    if (type instanceof GenericArrayType array) {
      return arrayDecoder(Object.class, array.getGenericComponentType());
    }
    if (type instanceof ParameterizedType generic && generic.getRawType() instanceof Class<?> raw) {
      Type[] arguments = generic.getActualTypeArguments();
      if (raw.isAssignableFrom(ArrayList.class)) return listDecoder(arguments[0]);
      if (Set.class.isAssignableFrom(raw) && raw.isAssignableFrom(LinkedHashSet.class)) {
        Decoder list = listDecoder(arguments[0]);
        return in -> in.isNull() ? null : new LinkedHashSet<>((Collection<?>) list.read(in));
      }
      if (raw.isAssignableFrom(LinkedHashMap.class)) return mapDecoder(arguments[0], arguments[1]);
      if (raw.isRecord()) return recordDecoder(raw, Generics.arguments(raw, arguments));
      if (raw == Optional.class) return in -> Optional.ofNullable(decoder(arguments[0]).read(in));
    }
    throw new CodecException("JSON can't be read as " + type.getTypeName());
  }

  private Decoder classDecoder(Class<?> type) {
    if (type == Object.class) return JsonReader::any;
    if (type == Json.class) return in -> toJson.apply(in.raw());
    if (type == String.class) return nullOr(type, "\"", "a string", JsonReader::string);
    if (type == boolean.class || type == Boolean.class) {
      return nullOr(type, "tf", "true or false", JsonReader::bool);
    }
    Function<String, Object> number = NUMBERS.get(type);
    if (number != null) {
      return nullOr(type, "-0123456789", "a number", in -> parse(in, in.number(), number, type));
    }
    if (type == Duration.class && naming == Naming.API) {
      return in -> in.isNull() ? null : Duration.ofMillis(Long.parseLong(in.number()));
    }
    Function<String, Object> parser = PARSERS.get(type);
    if (parser != null) {
      return nullOr(type, "\"", "a string", in -> parse(in, in.string(), parser, type));
    }
    if (type.isEnum()) return enumDecoder(type);
    if (type.isRecord()) return recordDecoder(type, Map.of());
    if (type.isArray()) return arrayDecoder(type.getComponentType(), type.getComponentType());
    if (type.isAssignableFrom(ArrayList.class)) return listDecoder(Object.class);
    if (type.isAssignableFrom(LinkedHashMap.class)) return mapDecoder(String.class, Object.class);
    if (type == Void.class) {
      return in -> {
        in.skip();
        return null;
      };
    }
    throw new CodecException(
        "JSON can't be read as " + type.getName() + "; records can, and a codec for your library");
  }

  /** Reads a null, except as a primitive, or a value that begins with one of these characters. */
  private Decoder nullOr(Class<?> type, String starts, String wanted, Decoder decoder) {
    boolean isNullable = isLenient() || !type.isPrimitive();
    return in -> {
      if (isNullable && in.isNull()) return null;
      in.expect(starts, wanted);
      return decoder.read(in);
    };
  }

  /** A later API may lack members and have words that this version does not know. */
  private boolean isLenient() {
    return naming == Naming.API;
  }

  private Decoder recordDecoder(Class<?> type, Map<TypeVariable<?>, Type> arguments) {
    RecordShape shape = shape(type);
    Decoder[] members = new Decoder[shape.types.length];
    return in -> {
      if (in.isNull()) return null;
      in.expect("{", "an object");
      Object[] values = shape.emptyValues();
      boolean[] isThere = new boolean[values.length];
      in.begin('{');
      for (boolean first = true; in.more('}', first); first = false) {
        int place = shape.placeOf(in.name());
        if (place < 0) {
          in.skip();
          continue;
        }
        // Several threads may find the same decoder, which is harmless.
        if (members[place] == null) {
          members[place] = decoder(Generics.resolve(shape.types[place], arguments));
        }
        Object value = member(in, shape.names[place], members[place]);
        isThere[place] = true;
        if (value != null) values[place] = value;
      }
      if (!isLenient()) refuseMissing(in, shape, isThere);
      return shape.make(values);
    };
  }

  private static Object member(JsonReader in, String name, Decoder decoder) {
    try {
      return decoder.read(in);
    } catch (CodecException fault) {
      throw JsonFault.within(name, fault);
    }
  }

  private static void refuseMissing(JsonReader in, RecordShape shape, boolean[] isThere) {
    for (int i = 0; i < isThere.length; i++) {
      if (isThere[i] || shape.mayLack(i)) continue;
      throw in.fault("the member \"" + shape.names[i] + "\" is missing");
    }
  }

  private Decoder enumDecoder(Class<?> type) {
    Map<String, Object> constants = new HashMap<>();
    for (Object constant : type.getEnumConstants()) {
      constants.put(naming.constant((Enum<?>) constant), constant);
    }
    return in -> {
      if (in.isNull()) return null;
      in.expect("\"", "a string");
      String name = in.string();
      Object constant = constants.get(name);
      if (constant == null && !isLenient()) {
        throw in.fault("\"" + name + "\" is no " + type.getSimpleName());
      }
      return constant;
    };
  }

  private Decoder listDecoder(Type element) {
    return in -> {
      if (in.isNull()) return null;
      in.expect("[", "an array");
      Decoder decoder = decoder(element);
      List<Object> elements = new ArrayList<>();
      in.begin('[');
      for (boolean first = true; in.more(']', first); first = false) {
        try {
          elements.add(decoder.read(in));
        } catch (CodecException fault) {
          throw JsonFault.within("[" + elements.size() + "]", fault);
        }
      }
      return elements;
    };
  }

  private Decoder arrayDecoder(Class<?> raw, Type element) {
    Decoder list = listDecoder(element);
    return in -> {
      List<?> elements = (List<?>) list.read(in);
      if (elements == null) return null;
      Object array = Array.newInstance(raw, elements.size());
      for (int i = 0; i < elements.size(); i++) Array.set(array, i, elements.get(i));
      return array;
    };
  }

  private Decoder mapDecoder(Type key, Type value) {
    return in -> {
      if (in.isNull()) return null;
      in.expect("{", "an object");
      Decoder decoder = decoder(value);
      Map<Object, Object> members = new LinkedHashMap<>();
      in.begin('{');
      for (boolean first = true; in.more('}', first); first = false) {
        String name = in.name();
        members.put(keyOf(in, name, key), member(in, name, decoder));
      }
      return members;
    };
  }

  private Object keyOf(JsonReader in, String name, Type type) {
    if (type == String.class || type == Object.class || type instanceof WildcardType) return name;
    Function<String, Object> parser = NUMBERS.getOrDefault(type, PARSERS.get(type));
    if (parser != null) return parse(in, name, parser, type);
    if (type instanceof Class<?> raw && raw.isEnum()) {
      for (Object constant : raw.getEnumConstants()) {
        if (((Enum<?>) constant).name().equals(name)) return constant;
      }
    }
    throw in.fault("\"" + name + "\" can't be read as " + type.getTypeName());
  }

  private static Object parse(
      JsonReader in, String text, Function<String, Object> parser, Type type) {
    try {
      return parser.apply(text);
    } catch (RuntimeException error) {
      throw in.fault(text + " can't be read as " + type.getTypeName());
    }
  }

  private static final Map<Type, Function<String, Object>> NUMBERS = new HashMap<>();

  static {
    NUMBERS.put(int.class, Integer::valueOf);
    NUMBERS.put(Integer.class, Integer::valueOf);
    NUMBERS.put(long.class, Long::valueOf);
    NUMBERS.put(Long.class, Long::valueOf);
    NUMBERS.put(short.class, Short::valueOf);
    NUMBERS.put(Short.class, Short::valueOf);
    NUMBERS.put(byte.class, Byte::valueOf);
    NUMBERS.put(Byte.class, Byte::valueOf);
    NUMBERS.put(double.class, Double::valueOf);
    NUMBERS.put(Double.class, Double::valueOf);
    NUMBERS.put(float.class, Float::valueOf);
    NUMBERS.put(Float.class, Float::valueOf);
    NUMBERS.put(BigInteger.class, BigInteger::new);
    NUMBERS.put(BigDecimal.class, BigDecimal::new);
  }

  // Types whose JSON is the string that toString gives.
  private static final Map<Type, Function<String, Object>> PARSERS =
      Map.of(
          UUID.class, UUID::fromString,
          URI.class, URI::create,
          Instant.class, text -> OffsetDateTime.parse(text).toInstant(),
          Duration.class, Duration::parse,
          LocalDate.class, LocalDate::parse,
          LocalDateTime.class, LocalDateTime::parse,
          OffsetDateTime.class, OffsetDateTime::parse,
          ZonedDateTime.class, ZonedDateTime::parse);
}
