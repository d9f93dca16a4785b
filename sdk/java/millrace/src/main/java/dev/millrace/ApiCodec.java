package dev.millrace;

import dev.millrace.internal.json.Binding;
import dev.millrace.internal.json.Binding.Nulls;
import dev.millrace.internal.json.Generics;
import dev.millrace.internal.json.JsonWriter;
import dev.millrace.internal.json.Naming;
import java.util.Map;

/** Reads and writes the values of the API. Thread-safe. */
final class ApiCodec {
  static final ApiCodec STANDARD = new ApiCodec(RecordCodec.standard());

  private final Binding binding;
  private final Codec payloads;

  ApiCodec(Codec payloads) {
    this.payloads = payloads;
    binding = new Binding(Naming.API, Nulls.LEFT_OUT, text -> Json.trusted(text, payloads));
  }

  Codec payloads() {
    return payloads;
  }

  <T> T read(String body, Class<T> type) {
    return type.cast(binding.read(body, type));
  }

  @SuppressWarnings("unchecked")
  <T> Page<T> readPage(String body, Class<T> item) {
    return (Page<T>) binding.read(body, Generics.of(Page.class, item));
  }

  String write(Object value) {
    return binding.write(value);
  }

  /** Writes an object of the members that are not null. */
  void writeMembers(Map<String, Object> members, JsonWriter out) {
    out.begin('{');
    members.forEach(
        (name, value) -> {
          if (name.equals("payload")) {
            out.name(name).raw(Json.encoded(value, payloads).text());
          } else {
            binding.write(value, out.name(name));
          }
        });
    out.end('}');
  }

  String write(Members<?> members) {
    JsonWriter out = new JsonWriter();
    writeMembers(members.named(), out);
    return out.toString();
  }

  void write(Object value, JsonWriter out) {
    binding.write(value, out);
  }
}
