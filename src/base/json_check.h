// The strict check of JSON text (RFC 8259). All input passes it once, as a whole, before anything
// reads it. It does not recurse or convert: numbers of any length and the order of keys stay as the
// sender wrote them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace {

// The deepest nesting that a caller may allow; the checker keeps one bit a level.
constexpr std::size_t kMaxJsonDepth = 1'024;

// An escaped half of a surrogate pair ("\ud800") is valid JSON but not valid Unicode text.
enum class LoneSurrogates : std::uint8_t { kRefused, kKept };

struct JsonFault {
  std::size_t position =
      0;  // offset of the first wrong byte, from 0; the size of a text that ends too early
  std::string_view reason;  // a constant, fit for the client: "expected ',' or '}'"
};

// nullopt: `text` is exactly one JSON value, possibly with white space around it, with at most
// `max_depth` nested arrays and objects (a scalar has depth 0), in valid UTF-8 without a byte order
// mark. The reader must deal with duplicate members. Precondition: max_depth <= kMaxJsonDepth.
std::optional<JsonFault> check_json(std::string_view text, std::size_t max_depth,
                                    LoneSurrogates lone);

constexpr bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace millrace
