package dev.millrace;

import dev.millrace.internal.json.Binding;
import dev.millrace.internal.json.Binding.Nulls;
import dev.millrace.internal.json.Naming;
import java.lang.reflect.Type;

/**
 * The built-in codec. It supports records, enums, collections, maps with simple keys, arrays,
 * {@link java.util.Optional}, strings, numbers, booleans, {@link java.util.UUID}, {@link
 * java.net.URI}, the types of {@code java.time} and {@link Json}. As {@code Object} a value is read
 * as a map, list, string, boolean, {@code Long} ({@code BigInteger} if that is too small) or {@code
 * Double}.
 *
 * <p>Members that a record does not have are ignored. A member that is missing in the JSON is an
 * error, unless its component is an {@code Optional}, which is empty then, or has an annotation
 * named {@code Nullable}, of any library that keeps it at run time: it is null then. A null in the
 * JSON is read as null, but for a primitive it is an error. Errors name the member.
 */
public final class RecordCodec implements Codec {
  private static final RecordCodec STANDARD = new RecordCodec(Naming.AS_IS);
  private static final RecordCodec SNAKE = new RecordCodec(Naming.SNAKE);

  private final Binding binding;

  private RecordCodec(Naming naming) {
    binding = new Binding(naming, Nulls.KEPT, text -> Json.trusted(text, this));
  }

  /**
   * Returns the codec that names members like the components of records.
   *
   * @return the codec
   */
  public static RecordCodec standard() {
    return STANDARD;
  }

  /**
   * Returns the codec that names members in snake case: the component {@code templateId} becomes
   * the member {@code template_id}.
   *
   * @return the codec
   */
  public static RecordCodec snakeCase() {
    return SNAKE;
  }

  @Override
  public String encode(Object value) {
    return binding.write(value);
  }

  @Override
  @SuppressWarnings("unchecked")
  public <T> T decode(String json, Type type) {
    return (T) binding.read(json, type);
  }
}
