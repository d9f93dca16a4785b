// Writing and validating JSON. Payloads and results are raw JSON text, which the library and the
// server pass on byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::sdk {

// Appends values and places the commas. It does not check that keys and values alternate. It makes
// every string valid: bytes that are not UTF-8 become U+FFFD.
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();

  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& number(double value);  // precondition: finite
  JsonWriter& boolean(bool value);
  JsonWriter& null() { return raw("null"); }
  // `json` is one JSON value, inserted as it is.
  JsonWriter& raw(std::string_view json);

  std::size_t size() const { return text_.size(); }
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  template <typename Write>
  JsonWriter& add(Write write);

  std::string text_;
  bool needs_comma_ = false;
};

// `text` as a JSON string with its quotes.
std::string json_string(std::string_view text);

// Whether `text` is exactly one JSON value (RFC 8259, UTF-8, with optional white space around it)
// nested no deeper than `max_depth`, or 1,024 levels.
bool is_json(std::string_view text, std::size_t max_depth = 60);

// The integer member `name` of the JSON object `json`.
std::optional<std::int64_t> read_integer(std::string_view json, std::string_view name);

}  // namespace millrace::sdk
