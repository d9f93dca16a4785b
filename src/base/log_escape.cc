#include "base/log_escape.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

#include "base/log.h"
#include "base/utf8.h"

namespace millrace {
namespace {

std::string_view shown_part(std::string_view text) { return cut_utf8(text, kMaxLogValueBytes); }

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
    const Utf8Character next = first_character(shown.substr(i));
    if (next.bytes == 0) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<std::uint8_t>(shown[i]));
      ++i;
      continue;
    }
    if (next.code == '\\' || (quoted && next.code == '"')) {
      out += '\\';
      out += shown[i];
    } else if (controls_display(next.code)) {
      append_text_escape(out, next.code);
    } else {
      out += shown.substr(i, next.bytes);
    }
    i += next.bytes;
  }
  append_cut_note(out, text.size() - shown.size());
}

}  // namespace

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

void append_json_value(std::string& out, std::string_view text) {
  const std::string_view shown = shown_part(text);
  out += '"';
  for (std::size_t i = 0; i < shown.size();) {
    const Utf8Character next = first_character(shown.substr(i));
    if (next.bytes == 0) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    if (next.code == '\\' || next.code == '"') {
      out += '\\';
      out += shown[i];
    } else if (controls_display(next.code)) {
      append_json_escape(out, next.code);
    } else {
      out += shown.substr(i, next.bytes);
    }
    i += next.bytes;
  }
  append_cut_note(out, text.size() - shown.size());
  out += '"';
}

}  // namespace millrace
