// The strict check of JSON text (RFC 8259): everything that comes in passes it once, whole, before
// anything is read. It does not recurse and does not convert: numbers of any length and any key
// order stay the sender's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace {

// The deepest nesting that anyone may allow; the checker keeps one bit a level.
constexpr std::size_t kMaxJsonDepth = 1'024;

// An escaped half of a surrogate pair ("\ud800") is legal by the grammar and not text by Unicode.
enum class LoneSurrogates : std::uint8_t { kRefused, kKept };

struct JsonFault {
  std::size_t position =
      0;  // of the first byte that is wrong, from 0; the size of the text where it ends too early
  std::string_view reason;  // a constant, fit for the client: "expected ',' or '}'"
};

// nullopt: `text` is exactly one JSON value, with white space around it or not, at most `max_depth`
// arrays and objects deep (a scalar has depth 0), in valid UTF-8 without a byte order mark.
// Duplicate members are the reader's business. Precondition: max_depth <= kMaxJsonDepth.
std::optional<JsonFault> check_json(std::string_view text, std::size_t max_depth,
                                    LoneSurrogates lone);

constexpr bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace millrace
