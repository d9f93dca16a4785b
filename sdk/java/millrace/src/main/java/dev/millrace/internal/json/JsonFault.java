package dev.millrace.internal.json;

import dev.millrace.CodecException;

/** Says what does not fit in a JSON text, and in which member. */
final class JsonFault extends CodecException {
  private static final long serialVersionUID = 1;

  private final String
      path; // of names and places, such as "lines[2].price"; empty: the whole value
  private final String detail;

  JsonFault(String detail) {
    this("", detail, null);
  }

  private JsonFault(String path, String detail, Throwable cause) {
    super(path.isEmpty() ? detail : path + ": " + detail, cause);
    this.path = path;
    this.detail = detail;
  }

  /** Returns the fault of a member as one of the value that holds it. */
  static JsonFault within(String outer, CodecException fault) {
    if (!(fault instanceof JsonFault known)) return new JsonFault(outer, fault.getMessage(), fault);
    boolean joins = known.path.isEmpty() || known.path.startsWith("[");
    String path = joins ? outer + known.path : outer + "." + known.path;
    return new JsonFault(path, known.detail, known.getCause());
  }
}
