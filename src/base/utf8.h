// UTF-8 according to RFC 3629: shortest forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

// The number of bytes of the character at `at`; 0: no valid character. Precondition: at < end.
inline std::size_t utf8_length(const char* at, const char* end) {
  const auto byte = [at](std::ptrdiff_t i) { return static_cast<unsigned char>(at[i]); };
  const auto is_tail = [&byte](std::ptrdiff_t i) { return (byte(i) & 0xC0) == 0x80; };
  const std::ptrdiff_t left = end - at;
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return left >= 2 && is_tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (left < 3 || !is_tail(1) || !is_tail(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;  // an overlong form
    if (lead == 0xED && byte(1) > 0x9F) return 0;  // a surrogate
    return 3;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (left < 4 || !is_tail(1) || !is_tail(2) || !is_tail(3)) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;  // above U+10FFFF
    return 4;
  }
  return 0;
}

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: the text is empty, or its first byte begins no character
};
Utf8Character first_character(std::string_view text);

// Whether the character controls how text is shown: controls of C0, DEL and C1, separators of lines
// and paragraphs, and marks that hide or reorder text. A stranger's text is never shown with these.
bool controls_display(char32_t code);

bool is_utf8(std::string_view text);

// The longest prefix of `text` of at most `max_bytes` that splits no character. For text that is
// not UTF-8, a prefix that may be up to three bytes shorter.
std::string_view cut_utf8(std::string_view text, std::size_t max_bytes);

// U+FFFD, which replaces invalid bytes.
constexpr char32_t kReplacementCharacter = 0xFFFD;
constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

// Precondition: `code` is at most U+10FFFF and not a surrogate.
void append_utf8(std::string& out, char32_t code);
// Appends `text`, with U+FFFD for each byte that is not part of a character.
void append_as_utf8(std::string& out, std::string_view text);

}  // namespace millrace
