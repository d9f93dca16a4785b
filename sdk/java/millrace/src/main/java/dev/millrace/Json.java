package dev.millrace;

import dev.millrace.internal.json.JsonReader;
import java.lang.reflect.Type;
import java.util.Objects;

/**
 * A JSON value as text, byte for byte as it was sent: a payload, a result or a checkpoint. As a
 * payload or result it is sent unchanged. Immutable.
 */
public final class Json {
  /** The JSON value {@code null}. */
  public static final Json NULL = new Json("null", RecordCodec.standard());

  private final String text;
  private final Codec codec;

  private Json(String text, Codec codec) {
    this.text = text;
    this.codec = codec;
  }

  /**
   * Returns a value with this text.
   *
   * @param text a JSON text
   * @return the value
   * @throws CodecException if the text is not JSON
   */
  public static Json of(String text) {
    JsonReader reader = new JsonReader(text);
    reader.skip();
    reader.end();
    return new Json(text, RecordCodec.standard());
  }

  // For texts that are known to be JSON.
  static Json trusted(String text, Codec codec) {
    return new Json(text, codec);
  }

  static Json encoded(Object value, Codec codec) {
    if (value instanceof Json json) return json;
    return value == null ? NULL : new Json(codec.encode(value), codec);
  }

  /**
   * Returns the value's text.
   *
   * @return a JSON text
   */
  public String text() {
    return text;
  }

  /**
   * Says whether this is the JSON value {@code null}.
   *
   * @return true for {@code null}
   */
  public boolean isNull() {
    return text.equals("null");
  }

  /**
   * Converts the value to a type of the application, by the codec of the client that returned it.
   *
   * @param <T> the type
   * @param type the type's class; {@code Object.class} gives maps, lists, strings and numbers
   * @return the value; null for a JSON null
   * @throws CodecException if the value does not fit the type
   */
  public <T> T as(Class<T> type) {
    return codec.decode(text, type);
  }

  /**
   * Converts the value to a type with arguments, such as a list of records.
   *
   * @param <T> the type that the caller expects
   * @param type the type
   * @return the value; null for a JSON null
   * @throws CodecException if the value does not fit the type
   */
  public <T> T as(Type type) {
    return codec.decode(text, type);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Json json && json.text.equals(text);
  }

  @Override
  public int hashCode() {
    return Objects.hash(text);
  }

  /** Returns the value's text. */
  @Override
  public String toString() {
    return text;
  }
}
