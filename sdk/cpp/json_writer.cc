#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "base/utf8.h"
#include "millrace/json.h"

namespace millrace::sdk {
namespace {

constexpr char kHex[] = "0123456789abcdef";
void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
  }
}

bool stands_for_itself(char c) {
  return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.data() + i, text.data() + text.size());
    if (length == 0) {
      out += kReplacementUtf8;
      ++i;
    } else if (length == 1 && !stands_for_itself(text[i])) {
      append_escaped(out, text[i++]);
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  out += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_string(text_, name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view value) {
  separate();
  append_string(text_, value);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(text_), "{}", value);
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  MILLRACE_CHECK(std::isfinite(value));
  separate();
  fmt::format_to(std::back_inserter(text_), "{}", value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

std::string json_string(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

}  // namespace millrace::sdk
