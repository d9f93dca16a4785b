#include "base/utf8.h"

namespace millrace {

Utf8Character first_character(std::string_view text) {
  if (text.empty()) return {};
  const std::size_t bytes = utf8_length(text.data(), text.data() + text.size());
  const auto byte = [text](std::size_t i) -> unsigned {
    return static_cast<unsigned char>(text[i]);
  };
  if (bytes <= 1) return {bytes == 0 ? char32_t{0} : char32_t{byte(0)}, bytes};
  char32_t code = byte(0) & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (byte(i) & 0x3F);
  return {code, bytes};
}

bool controls_display(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || code >= 0xe0000;
}

bool is_utf8(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const std::size_t bytes = utf8_length(at, end);
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

std::string_view cut_utf8(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t size = max_bytes;
  const auto is_tail = [text](std::size_t i) { return (text[i] & 0xC0) == 0x80; };
  for (int back = 0; back < 3 && size > 0 && is_tail(size); ++back) --size;
  return text.substr(0, size);
}

void append_utf8(std::string& out, char32_t code) {
  const auto append = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto tail = [&append, code](int shift) { append(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    append(code);
  } else if (code < 0x800) {
    append(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    append(0xE0 | code >> 12);
    tail(6), tail(0);
  } else {
    append(0xF0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

void append_as_utf8(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text.data(), text.data() + text.size());
    out += bytes > 0 ? text.substr(0, bytes) : kReplacementUtf8;
    text.remove_prefix(bytes > 0 ? bytes : 1);
  }
}

}  // namespace millrace
