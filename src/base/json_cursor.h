// A reader of JSON text that check_json() has passed: it trusts the grammar and never looks past
// the end of a value. It hands out views of the text, so that a payload is the very bytes that were
// sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

enum class JsonType : std::uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

// Copyable: a copy is a second place to read from. Stands before a value, between the calls of a
// container at its start, or behind the last one read. Each read moves it behind what it read.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view checked);

  JsonType type() const;
  // The bytes of the value, of any type.
  std::string_view skip();

  // Preconditions: type() says so.
  bool boolean();
  std::string_view number();       // as written
  std::string_view string_body();  // between the quotes, escapes as they stand

  // enter(), then next_element() or next_member() before each value, until one says false: it
  // stands behind the bracket.
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
// Writes the text of a string's body to `out`; for half of a surrogate pair, U+FFFD.
Unescaped unescape_json(std::string_view body, std::string& out);

}  // namespace millrace
