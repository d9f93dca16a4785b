package dev.millrace.jackson;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.millrace.Codec;
import dev.millrace.CodecException;
import java.lang.reflect.Type;

/**
 * Writes and reads payloads, results and checkpoints with the application's {@link ObjectMapper}.
 *
 * <pre>{@code
 * MillraceClient.builder().codec(new JacksonCodec(mapper)).build();
 * }</pre>
 */
public final class JacksonCodec implements Codec {
  private final ObjectMapper mapper;

  /**
   * Creates a codec.
   *
   * @param mapper a fully configured mapper; many threads will use it
   */
  public JacksonCodec(ObjectMapper mapper) {
    this.mapper = mapper;
  }

  @Override
  public String encode(Object value) {
    try {
      return mapper.writeValueAsString(value);
    } catch (JsonProcessingException refused) {
      throw faultOf(refused);
    }
  }

  @Override
  public <T> T decode(String json, Type type) {
    try {
      return mapper.readValue(json, mapper.constructType(type));
    } catch (JsonProcessingException refused) {
      throw faultOf(refused);
    }
  }

  /** Returns the fault, with the path of the member, such as {@code lines[2].price}. */
  private static CodecException faultOf(JsonProcessingException refused) {
    StringBuilder path = new StringBuilder();
    if (refused instanceof JsonMappingException misfit) {
      for (JsonMappingException.Reference step : misfit.getPath()) {
        if (step.getFieldName() == null) {
          path.append('[').append(step.getIndex()).append(']');
        } else {
          path.append(path.isEmpty() ? "" : ".").append(step.getFieldName());
        }
      }
    }
    String fault = refused.getOriginalMessage();
    return new CodecException(path.isEmpty() ? fault : path + ": " + fault, refused);
  }
}
