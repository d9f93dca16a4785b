package dev.millrace;

import java.lang.reflect.Type;

/**
 * Converts payloads, results and checkpoints to JSON and back. {@link RecordCodec} is built in; an
 * application may use its own JSON library instead. Codecs must be thread-safe.
 */
public interface Codec {
  /**
   * Writes a value. A codec need not support {@link Json}: it is never given such values.
   *
   * @param value any value of the application, or null
   * @return its JSON text
   * @throws CodecException if the value can't be written as JSON
   */
  String encode(Object value);

  /**
   * Reads a value.
   *
   * @param <T> the type that the caller expects
   * @param json a JSON text
   * @param type the value's type: a class, or a type with arguments such as a list of records
   * @return the value
   * @throws CodecException if the text is not JSON or does not fit the type
   */
  <T> T decode(String json, Type type);
}
