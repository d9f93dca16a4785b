package dev.millrace;

/** Makes texts fit for the server. */
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

  /** Cuts a text to a number of bytes in UTF-8. */
  static String cut(String text, int maxBytes) {
    return text == null ? null : text.substring(0, boundedLength(text, maxBytes));
  }

  /** Replaces halves of surrogate pairs, which are no text and which the server refuses. */
  static String whole(String text) {
    if (text == null) return null;
    StringBuilder whole = null;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (!Character.isSurrogate(c)) continue;
      boolean isPair = i + 1 < text.length() && Character.isSurrogatePair(c, text.charAt(i + 1));
      if (isPair) {
        i++;
      } else {
        if (whole == null) whole = new StringBuilder(text);
        whole.setCharAt(i, '\ufffd');
      }
    }
    return whole == null ? text : whole.toString();
  }
}
