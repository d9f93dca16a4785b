package dev.millrace;

import dev.millrace.internal.json.JsonWriter;
import java.util.List;

/** What a handler adds to the workflow of its job, and what it skips there. */
record Growth(List<NewMember> members, List<String> skip) {
  static final Growth NONE = new Growth(List.of(), List.of());

  boolean isEmpty() {
    return members.isEmpty() && skip.isEmpty();
  }

  void write(ApiCodec codec, JsonWriter out) {
    out.begin('{');
    if (!members.isEmpty()) {
      out.name("members").begin('[');
      for (NewMember member : members) member.write(codec, null, out);
      out.end(']');
    }
    if (!skip.isEmpty()) codec.write(skip, out.name("skip"));
    out.end('}');
  }
}
