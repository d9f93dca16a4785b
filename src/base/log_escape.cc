#include "base/log_escape.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "base/log.h"

namespace millrace {
namespace {

struct Decoded {
  char32_t code = 0;
  std::size_t size = 0;  // 0: the byte at hand is not part of valid UTF-8
};

// One character, strictly: no overlong forms, no surrogates, nothing above U+10FFFF.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  char32_t code = first & (0x7f >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, size};
}

// C0, DEL and C1 controls; line and paragraph separators; marks that hide or reorder text.
bool is_unsafe(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || code >= 0xe0000;
}

// The part that is shown: cut before a character that would not fit whole.
std::string_view shown_part(std::string_view text) {
  if (text.size() <= kMaxLogValueBytes) return text;
  std::size_t end = kMaxLogValueBytes;
  for (int back = 0; back < 3 && (static_cast<std::uint8_t>(text[end]) & 0xc0) == 0x80; ++back) {
    --end;
  }
  return text.substr(0, end);
}

void append_cut_note(std::string& out, std::size_t hidden) {
  if (hidden > 0) fmt::format_to(std::back_inserter(out), "...(+{} bytes)", hidden);
}

void append_text_escape(std::string& out, char32_t code) {
  switch (code) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto number = static_cast<std::uint32_t>(code);
  if (code < 0x80) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", number);
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{{{:x}}}", number);
  }
}

void append_json_escape(std::string& out, char32_t code) {
  const auto number = static_cast<std::uint32_t>(code);
  if (number < 0x10000) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", number);
  } else {  // a surrogate pair
    const std::uint32_t rest = number - 0x10000;
    fmt::format_to(std::back_inserter(out), "\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10),
                   0xdc00 + (rest & 0x3ff));
  }
}

bool needs_quotes(std::string_view text) {
  if (text.empty()) return true;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '=' || c == '\\') return true;
  }
  return false;
}

// Escapes `text`; `quoted` escapes quotation marks too.
void append_text(std::string& out, std::string_view text, bool quoted) {
  const std::string_view shown = shown_part(text);
  for (std::size_t i = 0; i < shown.size();) {
    const Decoded next = decode(shown.substr(i));
    if (next.size == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint8_t>(shown[i]));
      ++i;
      continue;
    }
    if (next.code == '\\' || (quoted && next.code == '"')) {
      out += '\\';
      out += shown[i];
    } else if (is_unsafe(next.code)) {
      append_text_escape(out, next.code);
    } else {
      out += shown.substr(i, next.size);
    }
    i += next.size;
  }
  append_cut_note(out, text.size() - shown.size());
}

}  // namespace

void append_text_escaped(std::string& out, std::string_view text) { append_text(out, text, false); }

void append_text_value(std::string& out, std::string_view text) {
  if (!needs_quotes(text)) {
    append_text(out, text, false);
    return;
  }
  out += '"';
  append_text(out, text, true);
  out += '"';
}

void append_json_string(std::string& out, std::string_view text) {
  const std::string_view shown = shown_part(text);
  out += '"';
  for (std::size_t i = 0; i < shown.size();) {
    const Decoded next = decode(shown.substr(i));
    if (next.size == 0) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    if (next.code == '\\' || next.code == '"') {
      out += '\\';
      out += shown[i];
    } else if (is_unsafe(next.code)) {
      append_json_escape(out, next.code);
    } else {
      out += shown.substr(i, next.size);
    }
    i += next.size;
  }
  append_cut_note(out, text.size() - shown.size());
  out += '"';
}

}  // namespace millrace
