package dev.millrace.internal.json;

import dev.millrace.CodecException;

/** Writes one JSON text. Not thread-safe. */
public final class JsonWriter {
  private static final char[] HEX = "0123456789abcdef".toCharArray();

  private final StringBuilder out = new StringBuilder(256);
  private boolean needsComma;

  public JsonWriter begin(char open) {
    separate();
    out.append(open);
    needsComma = false;
    return this;
  }

  public JsonWriter end(char close) {
    out.append(close);
    needsComma = true;
    return this;
  }

  public JsonWriter name(String name) {
    string(name);
    out.append(':');
    needsComma = false;
    return this;
  }

  public JsonWriter string(String value) {
    separate();
    out.append('"');
    int clean = 0;
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c >= 0x20 && c != '"' && c != '\\' && !Character.isSurrogate(c)) continue;
      if (Character.isHighSurrogate(c)
          && i + 1 < value.length()
          && Character.isLowSurrogate(value.charAt(i + 1))) {
        i++;
        continue;
      }
      out.append(value, clean, i);
      escape(c);
      clean = i + 1;
    }
    out.append(value, clean, value.length()).append('"');
    needsComma = true;
    return this;
  }

  public JsonWriter number(long value) {
    separate();
    out.append(value);
    needsComma = true;
    return this;
  }

  public JsonWriter number(double value) {
    if (!Double.isFinite(value)) throw new CodecException(value + " is no JSON");
    return raw(Double.toString(value));
  }

  /** Appends a value that is already JSON. */
  public JsonWriter raw(String json) {
    separate();
    out.append(json);
    needsComma = true;
    return this;
  }

  @Override
  public String toString() {
    return out.toString();
  }

  // Half of a surrogate pair can't be encoded in UTF-8, so it is written as an escape.
  private void escape(char c) {
    switch (c) {
      case '"' -> out.append("\\\"");
      case '\\' -> out.append("\\\\");
      case '\n' -> out.append("\\n");
      case '\r' -> out.append("\\r");
      case '\t' -> out.append("\\t");
      default -> {
        out.append("\\u");
        for (int shift = 12; shift >= 0; shift -= 4) out.append(HEX[c >> shift & 0xf]);
      }
    }
  }

  private void separate() {
    if (needsComma) out.append(',');
  }
}
