// Any bytes as JSON: compares the strict check with simdjson's DOM parser, and runs the reader on
// all texts that pass the check.
#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/json_check.h"
#include "base/json_cursor.h"
#include "base/utf8.h"

namespace {

using namespace millrace;

constexpr std::size_t kDepth = 64;

// Reads every value; the bytes of each must be at their place in the text.
void walk(JsonCursor& cursor, std::size_t depth) {
  MILLRACE_CHECK(depth <= kDepth + 1);
  std::string text;
  std::string_view name;
  JsonCursor whole = cursor;
  const std::string_view bytes = whole.skip();
  switch (cursor.type()) {
    case JsonType::kArray:
      for (cursor.enter(); cursor.next_element();) walk(cursor, depth + 1);
      break;
    case JsonType::kObject:
      for (cursor.enter(); cursor.next_member(name);) {
        (void)unescape_json(name, text);
        walk(cursor, depth + 1);
      }
      break;
    case JsonType::kString:
      if (unescape_json(cursor.string_body(), text) == Unescaped::kDone)
        MILLRACE_CHECK(is_utf8(text));
      break;
    default:
      cursor.skip();
      break;
  }
  MILLRACE_CHECK(bytes.data() + bytes.size() == cursor.position());
  MILLRACE_CHECK(!check_json(bytes, kDepth, LoneSurrogates::kKept));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly the given bytes, so that the sanitizer detects a read beyond them.
  const std::vector<char> memory(data, data + size);
  const std::string_view text(memory.data(), size);
  const auto kept = check_json(text, kDepth, LoneSurrogates::kKept);
  const auto strict = check_json(text, kDepth, LoneSurrogates::kRefused);
  if (kept) {
    MILLRACE_CHECK(strict && kept->position <= size && strict->position <= kept->position);
  } else {
    JsonCursor cursor(text);
    walk(cursor, 0);
  }
  const simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  MILLRACE_CHECK(parser.allocate(size, kDepth + 1) == simdjson::SUCCESS);
  const auto error = parser.parse(padded).error();
  // simdjson also refuses numbers that fit no machine type, and counts depth differently.
  if (error == simdjson::NUMBER_ERROR || error == simdjson::DEPTH_ERROR) return 0;
  if (error == simdjson::SUCCESS) {
    const bool too_deep = strict && strict->reason == "nested too deep";
    const bool lone = strict && strict->reason == "half of a surrogate pair";
    MILLRACE_CHECK(!strict || too_deep || lone);
  } else {
    MILLRACE_CHECK(strict.has_value());
  }
  return 0;
}
