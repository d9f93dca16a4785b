#include "store/json_member.h"

#include <charconv>
#include <cstdint>

#include "base/utf8.h"

namespace millrace::store {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// The number of a \uXXXX escape whose digits begin at `at`.
std::optional<std::uint32_t> hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return std::nullopt;
  std::uint32_t value = 0;
  const char* const end = text.data() + at + 4;
  const auto read = std::from_chars(text.data() + at, end, value, 16);
  if (read.ptr != end) return std::nullopt;
  return value;
}

char unescaped(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;
  }
}

// Reads the digits of a \u escape at `at`, and those of its other half; moves `at` behind them.
std::uint32_t read_unicode_escape(std::string_view content, std::size_t& at) {
  const auto first = hex4(content, at);
  at += 4;
  if (!first) return kReplacementCharacter;
  if (*first < 0xd800 || *first > 0xdfff) return *first;
  const bool pair = *first < 0xdc00 && content.substr(std::min(at, content.size()), 2) == "\\u";
  const auto second = pair ? hex4(content, at + 2) : std::nullopt;
  if (!second || *second < 0xdc00 || *second > 0xdfff) return kReplacementCharacter;
  at += 6;
  return 0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00);
}

std::string unescape(std::string_view content) {
  std::string out;
  out.reserve(content.size());
  for (std::size_t at = 0; at < content.size();) {
    const char c = content[at++];
    if (c != '\\' || at == content.size()) {
      out.push_back(c);
    } else if (const char escape = content[at++]; escape == 'u') {
      append_utf8(out, read_unicode_escape(content, at));
    } else {
      out.push_back(unescaped(escape));
    }
  }
  return out;
}

// A place in the text. Every step stops at the text's end.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  // The next character that is no white space; NUL at the end.
  char peek() {
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
    return rest_.empty() ? '\0' : rest_.front();
  }
  // Not NUL.
  bool accept(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Precondition: at a quote. What stands between it and the closing one.
  std::string_view take_string() {
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    end = std::min(end, rest_.size());
    const std::string_view content = rest_.substr(1, end - 1);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return content;
  }
  // A number, true, false or null.
  std::string_view take_word() {
    std::size_t end = 0;
    while (end < rest_.size() && !is_space(rest_[end]) &&
           std::string_view(",:[]{}\"").find(rest_[end]) == std::string_view::npos) {
      ++end;
    }
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }
  void skip_value() {
    std::size_t depth = 0;
    do {
      const char c = peek();
      if (rest_.empty()) return;
      if (c == '"') {
        take_string();
      } else if (c == '{' || c == '[') {
        ++depth;
        rest_.remove_prefix(1);
      } else if (c == '}' || c == ']' || c == ',' || c == ':') {
        if ((c == '}' || c == ']') && depth > 0) --depth;
        rest_.remove_prefix(1);
      } else {
        take_word();
      }
    } while (depth > 0);
  }

 private:
  std::string_view rest_;
};

bool same_key(std::string_view raw, std::string_view key) {
  return raw.find('\\') == std::string_view::npos ? raw == key : unescape(raw) == key;
}

// Moves to the member's value. Precondition of the two: behind the opening bracket.
bool enter_member(Cursor& cursor, std::string_view key) {
  while (cursor.peek() == '"') {
    const std::string_view raw = cursor.take_string();
    if (!cursor.accept(':')) return false;
    if (same_key(raw, key)) return true;
    cursor.skip_value();
    if (!cursor.accept(',')) return false;
  }
  return false;
}

bool enter_element(Cursor& cursor, std::string_view index_text) {
  std::uint32_t index = 0;
  const char* const end = index_text.data() + index_text.size();
  const auto read = std::from_chars(index_text.data(), end, index);
  if (read.ptr != end || read.ec != std::errc()) return false;
  if (cursor.peek() == ']') return false;
  for (; index > 0; --index) {
    cursor.skip_value();
    if (!cursor.accept(',')) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> json_member_text(std::string_view json, std::string_view path) {
  Cursor cursor(json);
  for (bool more = !path.empty(); more;) {
    const std::size_t dot = path.find('.');
    const std::string_view step = path.substr(0, dot);
    more = dot != std::string_view::npos;
    path.remove_prefix(more ? dot + 1 : path.size());
    const bool entered = cursor.accept('{')   ? enter_member(cursor, step)
                         : cursor.accept('[') ? !step.empty() && enter_element(cursor, step)
                                              : false;
    if (!entered) return std::nullopt;
  }
  const char first = cursor.peek();
  if (first == '{' || first == '[') return std::nullopt;
  if (first == '"') return unescape(cursor.take_string());
  const std::string_view word = cursor.take_word();
  if (word.empty()) return std::nullopt;
  return std::string(word);
}

}  // namespace millrace::store
