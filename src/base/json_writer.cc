#include "base/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/hex.h"

namespace millrace {
namespace {

// How a byte is written in a string: 0 as itself, 'u' as a \u escape, otherwise as a backslash and
// this letter.
constexpr std::array<char, 256> make_escapes() {
  std::array<char, 256> table{};
  for (int c = 0; c < 0x20; ++c) table[static_cast<std::size_t>(c)] = 'u';
  table['\b'] = 'b';
  table['\f'] = 'f';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['\t'] = 't';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}
constexpr std::array<char, 256> kEscapes = make_escapes();

template <typename Number>
void append_number(std::string& out, Number value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  MILLRACE_CHECK(end.ec == std::errc());
  out.append(text, end.ptr);
}

}  // namespace

void append_json_string(std::string& out, std::string_view utf8) {
  out.push_back('"');
  std::size_t plain = 0;  // where the run not yet appended begins
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    const char escape = kEscapes[byte];
    if (escape == 0) [[likely]]
      continue;
    out.append(utf8, plain, i - plain);
    plain = i + 1;
    out.push_back('\\');
    out.push_back(escape);
    if (escape == 'u') {
      out.append("00");
      append_hex(out, byte);
    }
  }
  out.append(utf8, plain);
  out.push_back('"');
}

void JsonWriter::key(std::string_view name) {
  if (needs_comma_) out_.push_back(',');
  needs_comma_ = false;
  out_.push_back('"');
  out_.append(name);
  out_.append("\":");
}

void JsonWriter::text_key(std::string_view name) {
  if (needs_comma_) out_.push_back(',');
  needs_comma_ = false;
  append_json_string(out_, name);
  out_.push_back(':');
}

void JsonWriter::number(std::int64_t value) {
  separate();
  append_number(out_, value);
}

void JsonWriter::number(std::uint64_t value) {
  separate();
  append_number(out_, value);
}

void JsonWriter::number(double value) {
  MILLRACE_CHECK(std::isfinite(value));
  separate();
  append_number(out_, value);
}

void JsonWriter::string(std::string_view utf8) {
  separate();
  append_json_string(out_, utf8);
}

void JsonWriter::id(const JobId& value) {
  separate();
  char text[kJobIdTextSize + 2];
  text[0] = text[kJobIdTextSize + 1] = '"';
  format_to(value, text + 1);
  out_.append(text, sizeof text);
}

void JsonWriter::time(Time value) {
  separate();
  char text[kRfc3339Size + 2];
  text[0] = text[kRfc3339Size + 1] = '"';
  format_rfc3339_to(value, text + 1);
  out_.append(text, sizeof text);
}

void JsonWriter::text_or_null(std::string_view name, std::string_view text) {
  key(name);
  if (text.empty()) {
    null();
  } else {
    string(text);
  }
}

void JsonWriter::raw(std::string_view json) {
  separate();
  out_.append(json);
}

}  // namespace millrace
