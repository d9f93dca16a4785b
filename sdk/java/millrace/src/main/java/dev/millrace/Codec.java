package dev.millrace;

import java.lang.reflect.Type;

/**
 * Turns payloads, results and checkpoints into JSON and back. {@link RecordCodec} is built in; an
 * application may bring its JSON library instead. Codecs are used by many threads at a time.
 */
public interface Codec {
  /**
   * Writes a value. A codec need not know {@link Json}: such values never reach it.
   *
   * @param value any value of the application's, or null
   * @return its JSON text
   * @throws CodecException if the value has no form in JSON
   */
  String encode(Object value);

  /**
   * Reads a value.
   *
   * @param <T> the type that the caller expects
   * @param json a JSON text
   * @param type what to make of it: a class, or a type with arguments such as a list of records
   * @return the value
   * @throws CodecException if the text is no JSON, or does not fit the type
   */
  <T> T decode(String json, Type type);
}
