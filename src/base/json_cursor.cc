#include "base/json_cursor.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/hex.h"
#include "base/json_check.h"
#include "base/utf8.h"

namespace millrace {
namespace {

constexpr bool ends_number(char c) { return c == ',' || c == '}' || c == ']' || is_json_space(c); }

// The value of four digits that check_json() has accepted.
unsigned hex_unit(const char* digits) {
  unsigned unit = 0;
  for (int i = 0; i < 4; ++i) unit = unit * 16 + static_cast<unsigned>(hex_value(digits[i]));
  return unit;
}

char simple_escape(char c) {
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
      return c;  // the quote, the backslash, the slash
  }
}

}  // namespace

JsonCursor::JsonCursor(std::string_view checked) : at_(checked.data()), end_(at_ + checked.size()) {
  skip_space();
}

void JsonCursor::skip_space() {
  while (at_ < end_ && is_json_space(*at_)) ++at_;
}

JsonType JsonCursor::type() const {
  MILLRACE_CHECK(at_ < end_);
  switch (*at_) {
    case '{':
      return JsonType::kObject;
    case '[':
      return JsonType::kArray;
    case '"':
      return JsonType::kString;
    case 'n':
      return JsonType::kNull;
    case 't':
    case 'f':
      return JsonType::kBoolean;
    default:
      return JsonType::kNumber;
  }
}

std::string_view JsonCursor::skip() {
  const char* const start = at_;
  switch (type()) {
    case JsonType::kNull:
      at_ += 4;
      break;
    case JsonType::kBoolean:
      boolean();
      break;
    case JsonType::kNumber:
      number();
      break;
    case JsonType::kString:
      skip_string();
      break;
    case JsonType::kArray:
    case JsonType::kObject:
      skip_container();
      break;
  }
  return {start, static_cast<std::size_t>(at_ - start)};
}

bool JsonCursor::boolean() {
  const bool value = *at_ == 't';
  at_ += value ? 4 : 5;
  return value;
}

std::string_view JsonCursor::number() {
  const char* const start = at_;
  while (at_ < end_ && !ends_number(*at_)) ++at_;
  return {start, static_cast<std::size_t>(at_ - start)};
}

std::string_view JsonCursor::string_body() {
  const char* const start = at_ + 1;
  skip_string();
  return {start, static_cast<std::size_t>(at_ - 1 - start)};
}

void JsonCursor::skip_string() {
  const char* const body = at_ + 1;
  const char* quote = body;
  for (;;) {
    quote =
        static_cast<const char*>(std::memchr(quote, '"', static_cast<std::size_t>(end_ - quote)));
    MILLRACE_CHECK(quote != nullptr);
    const char* before = quote;
    while (before > body && before[-1] == '\\') --before;
    ++quote;
    if ((quote - before) % 2 == 1) break;  // an even number of backslashes escapes only themselves
  }
  at_ = quote;
}

void JsonCursor::skip_container() {
  std::size_t depth = 0;
  do {
    MILLRACE_CHECK(at_ < end_);
    switch (*at_) {
      case '"':
        skip_string();
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        --depth;
        break;
      default:
        break;
    }
    ++at_;
  } while (depth > 0);
}

bool JsonCursor::next_element() {
  skip_space();
  MILLRACE_CHECK(at_ < end_);
  if (*at_ == ']' || *at_ == '}') {
    ++at_;
    return false;
  }
  if (*at_ == ',') {
    ++at_;
    skip_space();
  }
  return true;
}

bool JsonCursor::next_member(std::string_view& name_body) {
  if (!next_element()) return false;
  name_body = string_body();
  skip_space();
  ++at_;  // the colon
  skip_space();
  return true;
}

Unescaped unescape_json(std::string_view body, std::string& out) {
  out.clear();
  out.reserve(body.size());
  Unescaped done = Unescaped::kDone;
  for (std::size_t i = 0; i < body.size();) {
    const std::size_t backslash = std::min(body.find('\\', i), body.size());
    out.append(body, i, backslash - i);
    if (backslash == body.size()) break;
    const char kind = body[backslash + 1];
    i = backslash + 2;
    if (kind != 'u') {
      out.push_back(simple_escape(kind));
      continue;
    }
    char32_t code = hex_unit(&body[i]);
    i += 4;
    if (code >= 0xD800 && code <= 0xDFFF) {
      const bool pairs = code <= 0xDBFF && body.substr(i, 2) == "\\u";
      const char32_t low = pairs ? hex_unit(&body[i + 2]) : 0;
      if (low >= 0xDC00 && low <= 0xDFFF) {
        i += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        code = kReplacementCharacter;
        done = Unescaped::kLoneSurrogate;
      }
    }
    append_utf8(out, code);
  }
  return done;
}

}  // namespace millrace
