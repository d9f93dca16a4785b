// Text from outside, made harmless for a log line. Control characters, terminal escapes, characters
// that hide or reverse text, and bytes that are not UTF-8 are escaped. Text longer than
// kMaxLogValueBytes is cut.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// "\n", "\x1b", "\u{202e}"; a backslash is doubled.
void append_text_escaped(std::string& out, std::string_view text);
// The same, with quotes if a reader of key=value could not tell where the value ends.
void append_text_value(std::string& out, std::string_view text);
// "\u009b", or two of them for a character beyond U+FFFF.
void append_json_escape(std::string& out, char32_t code);
// A JSON string with its quotes; a byte that is not UTF-8 becomes U+FFFD.
void append_json_value(std::string& out, std::string_view text);

}  // namespace millrace
