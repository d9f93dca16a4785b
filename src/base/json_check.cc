#include "base/json_check.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/ascii.h"
#include "base/check.h"
#include "base/hex.h"
#include "base/utf8.h"

namespace millrace {
namespace {

static_assert(std::endian::native == std::endian::little);  // the first byte is a word's lowest

constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
constexpr std::uint64_t kHighs = 0x8080808080808080ULL;

// Sets the high bit where a byte of `word` is zero. False positives occur only above a true one,
// which is sufficient here.
constexpr std::uint64_t zero_bytes(std::uint64_t word) { return (word - kOnes) & ~word & kHighs; }

// The high bit of each byte that ends a plain run of a string: '"', '\', a control character, or
// not ASCII. The lowest one is true.
constexpr std::uint64_t special_bytes(std::uint64_t word) {
  const std::uint64_t control = (word - kOnes * 0x20) & ~word & kHighs;
  return (word & kHighs) | control | zero_bytes(word ^ (kOnes * '"')) |
         zero_bytes(word ^ (kOnes * '\\'));
}

// One pass over the text. The containers around the current value are a stack of bits: object or
// array.
class Checker {
 public:
  Checker(std::string_view text, std::size_t max_depth, LoneSurrogates lone)
      : begin_(text.data()),
        at_(begin_),
        end_(begin_ + text.size()),
        max_depth_(max_depth),
        lone_(lone) {}

  std::optional<JsonFault> run() {
    if (!document()) return JsonFault{static_cast<std::size_t>(at_ - begin_), reason_};
    return std::nullopt;
  }

 private:
  // Every step returns whether to continue; if not, at_ is the position of the fault.
  bool fail(std::string_view reason) {
    reason_ = reason;
    return false;
  }
  bool fail_at(const char* at, std::string_view reason) {
    at_ = at;
    return fail(reason);
  }

  void skip_space() {
    while (at_ < end_ && is_json_space(*at_)) ++at_;
  }
  char peek() const { return at_ < end_ ? *at_ : '\0'; }

  bool in_object() const { return (stack_[(depth_ - 1) / 64] >> ((depth_ - 1) % 64)) & 1; }
  bool push(bool object) {
    if (depth_ == max_depth_) return fail("nested too deep");
    const std::uint64_t bit = std::uint64_t{1} << (depth_ % 64);
    if (object) {
      stack_[depth_ / 64] |= bit;
    } else {
      stack_[depth_ / 64] &= ~bit;
    }
    ++depth_;
    ++at_;
    return true;
  }

  bool document() {
    skip_space();
    if (at_ == end_) return fail("there is no value");
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with("\xEF\xBB\xBF")) {
      return fail("a byte order mark is not JSON");
    }
    for (;;) {
      bool opened = false;
      if (!value(opened)) return false;
      if (opened) continue;
      if (!after_value()) return false;
      if (depth_ == 0) break;
    }
    skip_space();
    return at_ == end_ || fail("more behind the value");
  }

  // Reads a scalar or an empty container; or opens a container that is not empty and stops before
  // its first value.
  bool value(bool& opened) {
    skip_space();
    if (at_ == end_) return fail("the text ends where a value should be");
    switch (*at_) {
      case '{':
        if (!push(true)) return false;
        skip_space();
        if (peek() == '}') return true;  // after_value() closes it
        opened = true;
        return member_name();
      case '[':
        if (!push(false)) return false;
        skip_space();
        if (peek() == ']') return true;
        opened = true;
        return true;
      case '"':
        return string();
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        return number();
    }
  }

  // Closes the containers that end here, and stops before the next value or at the end of the
  // outermost one.
  bool after_value() {
    while (depth_ > 0) {
      skip_space();
      const char close = in_object() ? '}' : ']';
      if (at_ == end_)
        return fail(in_object() ? "the text ends inside an object"
                                : "the text ends inside an array");
      if (*at_ == close) {
        ++at_;
        --depth_;
        continue;
      }
      if (*at_ != ',') return fail(in_object() ? "expected ',' or '}'" : "expected ',' or ']'");
      ++at_;
      skip_space();
      if (peek() == close) return fail("a comma without a value behind it");
      return !in_object() || member_name();
    }
    return true;
  }

  bool member_name() {
    if (peek() != '"') return fail("expected a member's name in double quotes");
    if (!string()) return false;
    skip_space();
    if (peek() != ':') return fail("expected ':'");
    ++at_;
    return true;
  }

  bool literal(std::string_view word) {
    if (static_cast<std::size_t>(end_ - at_) < word.size() ||
        std::memcmp(at_, word.data(), word.size()) != 0) {
      return fail("not a JSON value");
    }
    at_ += word.size();
    return true;
  }

  bool digits(std::string_view reason) {
    if (!is_digit(peek())) return fail(reason);
    while (at_ < end_ && is_digit(*at_)) ++at_;
    return true;
  }

  bool number() {
    if (peek() == '-') {
      ++at_;
    } else if (!is_digit(*at_)) {
      return fail("not a JSON value");
    }
    if (peek() == '0') {
      ++at_;
      if (is_digit(peek())) return fail("a number may not begin with 0");
    } else if (!digits("expected a digit")) {
      return false;
    }
    if (peek() == '.') {
      ++at_;
      if (!digits("expected a digit behind the point")) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits("expected a digit of the exponent")) return false;
    }
    return true;
  }

  bool string() {
    ++at_;
    for (;;) {
      std::uint64_t special = 0;
      while (special == 0 && end_ - at_ >= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at_, 8);
        special = special_bytes(word);
        at_ += special == 0 ? 8 : std::countr_zero(special) / 8;
      }
      while (special == 0 && at_ < end_ && static_cast<unsigned char>(*at_) >= 0x20 &&
             static_cast<unsigned char>(*at_) < 0x80 && *at_ != '"' && *at_ != '\\') {
        ++at_;
      }
      if (at_ == end_) return fail("the text ends inside a string");
      if (*at_ == '"') {
        ++at_;
        return true;
      }
      if (*at_ == '\\') {
        if (!escape()) return false;
      } else if (static_cast<unsigned char>(*at_) < 0x20) {
        return fail("a control character in a string must be escaped");
      } else {
        const std::size_t size = utf8_length(at_, end_);
        if (size == 0) return fail("not UTF-8");
        at_ += size;
      }
    }
  }

  bool escape() {
    const char* const start = at_;
    ++at_;
    switch (peek()) {
      case '"':
      case '\\':
      case '/':
      case 'b':
      case 'f':
      case 'n':
      case 'r':
      case 't':
        ++at_;
        return true;
      case 'u':
        break;
      default:
        return fail("no such escape in a string");
    }
    unsigned unit = 0;
    if (!hex_unit(unit)) return false;
    if (lone_ == LoneSurrogates::kKept || unit < 0xD800 || unit > 0xDFFF) return true;
    if (unit > 0xDBFF || end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') {
      return fail_at(start, "half of a surrogate pair");
    }
    ++at_;
    unsigned low = 0;
    if (!hex_unit(low)) return false;
    if (low < 0xDC00 || low > 0xDFFF) return fail_at(start, "half of a surrogate pair");
    return true;
  }

  // At the 'u'; reads it and four digits.
  bool hex_unit(unsigned& unit) {
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
      const int digit = hex_value(peek());
      if (digit < 0) return fail("expected four hexadecimal digits behind \\u");
      unit = unit * 16 + static_cast<unsigned>(digit);
    }
    return true;
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
  const std::size_t max_depth_;
  const LoneSurrogates lone_;
  std::string_view reason_;
  std::size_t depth_ = 0;
  std::array<std::uint64_t, kMaxJsonDepth / 64> stack_{};
};

}  // namespace

std::optional<JsonFault> check_json(std::string_view text, std::size_t max_depth,
                                    LoneSurrogates lone) {
  MILLRACE_CHECK(max_depth <= kMaxJsonDepth);
  return Checker(text, max_depth, lone).run();
}

}  // namespace millrace
