// A strict reader that keeps nothing: one pass, no recursion. simdjson is not asked because it
// takes numbers for faults that it can't hold, and a result is JSON however long its numbers are.
#include <simdjson.h>

#include <vector>

#include "millrace/json.h"

namespace millrace::sdk {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Checker {
 public:
  Checker(std::string_view text, std::size_t max_depth) : text_(text), max_depth_(max_depth) {}

  bool check() {
    do {
      if (!value()) return false;
    } while (next_value());
    return !failed_ && at_ == text_.size();
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool fail() {
    failed_ = true;
    return false;
  }

  // A scalar, or opening brackets down to the first scalar or empty container within.
  bool value() {
    for (;;) {
      skip_space();
      const char c = peek();
      if (c != '{' && c != '[') return scalar();
      if (open_.size() == max_depth_) return false;
      ++at_;
      skip_space();
      if (take(c == '{' ? '}' : ']')) return true;
      open_.push_back(c);
      if (c == '{' && !name()) return false;
    }
  }

  // After a value: closes what ends here; true when another value must follow.
  bool next_value() {
    for (;;) {
      skip_space();
      if (open_.empty()) return false;
      const bool in_object = open_.back() == '{';
      if (take(',')) return !in_object || name() || fail();
      if (!take(in_object ? '}' : ']')) return fail();
      open_.pop_back();
    }
  }

  bool name() {
    skip_space();
    if (!string()) return false;
    skip_space();
    return take(':');
  }

  bool scalar() {
    switch (peek()) {
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\' && !escape()) return false;
    }
    return false;
  }

  bool escape() {
    const char c = peek();
    ++at_;
    if (c != 'u')
      return c != '\0' && std::string_view(R"("\/bfnrt)").find(c) != std::string_view::npos;
    const int unit = hex_unit();
    if (unit < 0xd800 || unit > 0xdfff) return unit >= 0;
    // A surrogate stands only as the first of a pair: a lone one is no character.
    if (unit > 0xdbff || !take('\\') || !take('u')) return false;
    const int second = hex_unit();
    return second >= 0xdc00 && second <= 0xdfff;
  }

  // Four hexadecimal digits, or -1.
  int hex_unit() {
    int unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const char lower = static_cast<char>(c | 0x20);
      if (is_digit(c)) {
        unit = unit * 16 + (c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        unit = unit * 16 + (lower - 'a' + 10);
      } else {
        return -1;
      }
    }
    return unit;
  }

  bool digits() {
    if (!is_digit(peek())) return false;
    while (is_digit(peek())) ++at_;
    return true;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      return digits();
    }
    return true;
  }

  std::string_view text_;
  std::size_t max_depth_;
  std::size_t at_ = 0;
  std::vector<char> open_;
  bool failed_ = false;
};

}  // namespace

bool is_json(std::string_view text, std::size_t max_depth) {
  return simdjson::validate_utf8(text.data(), text.size()) && Checker(text, max_depth).check();
}

}  // namespace millrace::sdk
