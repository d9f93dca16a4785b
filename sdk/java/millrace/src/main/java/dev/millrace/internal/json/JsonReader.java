package dev.millrace.internal.json;

import dev.millrace.CodecException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads one JSON text from beginning to end, strictly by RFC 8259. Not thread-safe. */
public final class JsonReader {
  /** Deeper nesting is refused, because it could overflow the stack. */
  private static final int MAX_DEPTH = 512;

  private static final int MAX_QUOTE = 40;
  private static final int LONG_DIGITS = 18; // digits that always fit into a long

  private final String text;
  private int at;
  private int depth;

  public JsonReader(String text) {
    this.text = text;
  }

  /** Returns the first character of the next value without reading it; 0 at the end of the text. */
  public char peek() {
    skipSpace();
    return at < text.length() ? text.charAt(at) : 0;
  }

  /** Begins an array or an object. */
  public void begin(char open) {
    expect(open);
    if (++depth > MAX_DEPTH) throw fault("nested too deep");
  }

  /**
   * Says whether another element follows in the current array or object. Call it before each
   * element, with {@code first} true once.
   */
  public boolean more(char close, boolean first) {
    char next = peek();
    if (next == close) {
      at++;
      depth--;
      return false;
    }
    if (!first) expect(',');
    return true;
  }

  /** Reads the name of the next member of an object. */
  public String name() {
    String name = string();
    expect(':');
    return name;
  }

  public String string() {
    expect('"');
    int start = at;
    while (at < text.length()) {
      char c = text.charAt(at);
      if (c == '"') return text.substring(start, at++);
      if (c == '\\') return escapedString(start);
      if (c < 0x20) throw fault("a control character in a string");
      at++;
    }
    throw fault("the text ends within a string");
  }

  /** Reads the next number as text. */
  public String number() {
    skipSpace();
    int start = at;
    if (at < text.length() && text.charAt(at) == '-') at++;
    if (at < text.length() && text.charAt(at) == '0') {
      at++;
    } else {
      digits();
    }
    if (at < text.length() && text.charAt(at) == '.') {
      at++;
      digits();
    }
    if (at < text.length() && (text.charAt(at) | 0x20) == 'e') {
      at++;
      if (at < text.length() && (text.charAt(at) == '+' || text.charAt(at) == '-')) at++;
      digits();
    }
    return text.substring(start, at);
  }

  public boolean bool() {
    char next = peek();
    if (next == 't') {
      literal("true");
      return true;
    }
    literal("false");
    return false;
  }

  /** Reads a null if it comes next, and says whether it did. */
  public boolean isNull() {
    if (peek() != 'n') return false;
    literal("null");
    return true;
  }

  /** Reads the text of the next value, without the white space around it. */
  public String raw() {
    skipSpace();
    int start = at;
    skip();
    return text.substring(start, at);
  }

  /** Skips the next value. */
  public void skip() {
    switch (peek()) {
      case '{' -> {
        begin('{');
        for (boolean first = true; more('}', first); first = false) {
          name();
          skip();
        }
      }
      case '[' -> {
        begin('[');
        for (boolean first = true; more(']', first); first = false) skip();
      }
      case '"' -> string();
      case 't', 'f' -> bool();
      case 'n' -> literal("null");
      default -> number();
    }
  }

  /**
   * Reads the next value: a Map in the order of the text, a List, a String, a Boolean or null. A
   * number is a Long or a BigInteger if it is written as an integer, else a Double.
   */
  public Object any() {
    return switch (peek()) {
      case '{' -> {
        Map<String, Object> members = new LinkedHashMap<>();
        begin('{');
        for (boolean first = true; more('}', first); first = false) members.put(name(), any());
        yield members;
      }
      case '[' -> {
        List<Object> elements = new ArrayList<>();
        begin('[');
        for (boolean first = true; more(']', first); first = false) elements.add(any());
        yield elements;
      }
      case '"' -> string();
      case 't', 'f' -> bool();
      case 'n' -> {
        literal("null");
        yield null;
      }
      default -> numberOf(number());
    };
  }

  /** Refuses anything but white space up to the end of the text. */
  public void end() {
    if (peek() != 0 || at < text.length()) throw fault("something follows the value");
  }

  /** Returns an error at the current position. */
  public CodecException fault(String message) {
    return new JsonFault(message + ", at character " + at + " of the JSON");
  }

  /** Refuses the next value unless it begins as one of these. */
  void expect(String starts, String wanted) {
    char next = peek();
    if (next == 0 || starts.indexOf(next) >= 0) return; // the end is a fault of its own
    int start = at;
    String found = raw();
    at = start;
    if (found.length() > MAX_QUOTE) found = found.substring(0, MAX_QUOTE) + "...";
    throw fault("expected " + wanted + " and found " + found);
  }

  private static Object numberOf(String digits) {
    boolean integer = true;
    for (int i = 0; i < digits.length() && integer; i++) {
      char c = digits.charAt(i);
      integer = c == '-' || (c >= '0' && c <= '9');
    }
    if (!integer) return new BigDecimal(digits).doubleValue();
    if (digits.length() <= LONG_DIGITS) return Long.parseLong(digits);
    BigInteger whole = new BigInteger(digits);
    return whole.bitLength() < Long.SIZE ? (Object) whole.longValue() : whole;
  }

  private String escapedString(int start) {
    StringBuilder out = new StringBuilder(text.length() - start < 64 ? 64 : at - start + 64);
    out.append(text, start, at);
    while (at < text.length()) {
      char c = text.charAt(at++);
      if (c == '"') return out.toString();
      if (c < 0x20) throw fault("a control character in a string");
      out.append(c == '\\' ? escape() : c);
    }
    throw fault("the text ends within a string");
  }

  private char escape() {
    if (at >= text.length()) throw fault("the text ends within a string");
    char c = text.charAt(at++);
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> {
        if (at + 4 > text.length()) throw fault("the text ends within a string");
        int code = 0;
        for (int i = 0; i < 4; i++) {
          int digit = Character.digit(text.charAt(at), 16);
          if (digit < 0 || text.charAt(at) > 'f') throw fault("no hexadecimal digit");
          code = code << 4 | digit;
          at++;
        }
        yield (char) code;
      }
      default -> throw fault("an unknown escape");
    };
  }

  private void digits() {
    int start = at;
    while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') at++;
    if (at == start) throw fault(at < text.length() ? "no value" : "the text ends too early");
  }

  private void literal(String word) {
    if (!text.startsWith(word, at)) throw fault("no value");
    at += word.length();
  }

  private void expect(char wanted) {
    if (peek() != wanted) throw fault("'" + wanted + "' expected");
    at++;
  }

  private void skipSpace() {
    while (at < text.length()) {
      char c = text.charAt(at);
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
      at++;
    }
  }
}
