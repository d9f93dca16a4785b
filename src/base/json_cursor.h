// A reader of JSON text that check_json() has accepted: it relies on the grammar and never reads
// past the end of a value. It returns views of the text, so a payload keeps the bytes that were
// sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

enum class JsonType : std::uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

// Copyable: a copy is a second read position. The cursor is before a value, just inside a
// container, or after the last value read. Each read moves it past what it read.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view checked);

  JsonType type() const;
  // The bytes of the value, whatever its type.
  std::string_view skip();

  // Precondition: type() is the type in question.
  bool boolean();
  std::string_view number();       // as written
  std::string_view string_body();  // between the quotes, with escapes as written

  // Call enter(), then next_element() or next_member() before each value, until one returns false;
  // the cursor is then after the closing bracket.
  void enter() { ++at_; }
  bool next_element();
  bool next_member(std::string_view& name_body);

  const char* position() const { return at_; }

 private:
  void skip_space();
  void skip_string();
  void skip_container();

  const char* at_;
  const char* end_;
};

enum class Unescaped : std::uint8_t { kDone, kLoneSurrogate };
// Appends the text of a string's body to `out`, with U+FFFD for half of a surrogate pair.
Unescaped unescape_json(std::string_view body, std::string& out);

}  // namespace millrace
