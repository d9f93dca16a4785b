// The public interface to base/json_writer.h and json_check.h, so that users of the SDK do not
// depend on base.
#include "base/json_writer.h"

#include <algorithm>

#include "base/json_check.h"
#include "base/utf8.h"
#include "millrace/json.h"

namespace millrace::sdk {
namespace {

// A view of `text`, or of a copy with U+FFFD for each byte that is not UTF-8.
std::string_view as_utf8(std::string_view text, std::string& scratch) {
  if (is_utf8(text)) return text;
  append_as_utf8(scratch, text);
  return scratch;
}

}  // namespace

template <typename Write>
JsonWriter& JsonWriter::add(Write write) {
  millrace::JsonWriter json(text_, needs_comma_);
  write(json);
  needs_comma_ = json.needs_comma();
  return *this;
}

JsonWriter& JsonWriter::begin_object() {
  return add([](auto& json) { json.begin_object(); });
}
JsonWriter& JsonWriter::end_object() {
  return add([](auto& json) { json.end_object(); });
}
JsonWriter& JsonWriter::begin_array() {
  return add([](auto& json) { json.begin_array(); });
}
JsonWriter& JsonWriter::end_array() {
  return add([](auto& json) { json.end_array(); });
}

JsonWriter& JsonWriter::key(std::string_view name) {
  std::string scratch;
  return add([&](auto& json) { json.text_key(as_utf8(name, scratch)); });
}

JsonWriter& JsonWriter::string(std::string_view value) {
  std::string scratch;
  return add([&](auto& json) { json.string(as_utf8(value, scratch)); });
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  return add([&](auto& json) { json.number(value); });
}

JsonWriter& JsonWriter::number(double value) {
  return add([&](auto& json) { json.number(value); });
}

JsonWriter& JsonWriter::boolean(bool value) {
  return add([&](auto& json) { json.boolean(value); });
}

JsonWriter& JsonWriter::raw(std::string_view json_text) {
  return add([&](auto& json) { json.raw(json_text); });
}

std::string json_string(std::string_view text) {
  std::string out;
  std::string scratch;
  append_json_string(out, as_utf8(text, scratch));
  return out;
}

bool is_json(std::string_view text, std::size_t max_depth) {
  return !check_json(text, std::min(max_depth, kMaxJsonDepth), LoneSurrogates::kRefused);
}

}  // namespace millrace::sdk
