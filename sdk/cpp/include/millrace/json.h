// Writing, reading and validating JSON. Payloads and results are raw JSON text, which the library
// and the server pass on unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::sdk {

// Appends values and inserts the commas. It does not check that keys and values alternate. Strings
// always become valid: bytes that are not UTF-8 become U+FFFD.
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();

  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& number(double value);  // must be finite
  JsonWriter& boolean(bool value);
  JsonWriter& null() { return raw("null"); }
  // `json` is one JSON value, inserted unchanged.
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

// `text` as a JSON string, quotes included.
std::string json_string(std::string_view text);

// Whether `text` is exactly one JSON value (RFC 8259, UTF-8, optional white space around it),
// nested at most `max_depth` or 1,024 levels deep, whichever is less.
bool is_json(std::string_view text, std::size_t max_depth = 60);

// A view of one JSON value, to read a payload without another library. It points into the text from
// which it was made. Reading a value as the wrong type returns nothing.
class JsonView {
 public:
  JsonView() = default;  // an empty view
  // An empty view if `text` is not JSON; see is_json().
  explicit JsonView(std::string_view text);

  explicit operator bool() const { return !text_.empty(); }
  std::string_view text() const { return text_; }  // as written; empty: an empty view

  bool is_null() const { return text_ == "null"; }
  bool is_array() const { return text_.starts_with('['); }
  bool is_object() const { return text_.starts_with('{'); }
  std::optional<bool> boolean() const;
  // Only for integers without fraction or exponent that fit the type.
  std::optional<std::int64_t> integer() const;
  std::optional<std::uint64_t> natural() const;
  std::optional<double> number() const;
  std::optional<std::string> string() const;

  std::vector<JsonView> elements() const;  // of an array
  std::vector<std::pair<std::string, JsonView>> members() const;
  // The last member of that name in an object; an empty view if there is none.
  JsonView operator[](std::string_view name) const;

 private:
  std::string_view text_{};
};

// The integer member `name` of the JSON object `json`.
std::optional<std::int64_t> read_integer(std::string_view json, std::string_view name);

}  // namespace millrace::sdk
