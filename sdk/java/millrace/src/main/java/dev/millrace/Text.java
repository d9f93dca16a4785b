package dev.millrace;

/** Cuts texts to a number of bytes in UTF-8. */
final class Text {
  private Text() {}

  /** Returns how many chars of a text fit, without splitting a surrogate pair. */
  static int boundedLength(String text, int maxBytes) {
    if (text.length() <= maxBytes / 3) return text.length();
    int bytes = 0;
    for (int i = 0; i < text.length(); ) {
      int code = text.codePointAt(i);
      bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      if (bytes > maxBytes) return i;
      i += Character.charCount(code);
    }
    return text.length();
  }

  static String cut(String text, int maxBytes) {
    return text == null ? null : text.substring(0, boundedLength(text, maxBytes));
  }
}
