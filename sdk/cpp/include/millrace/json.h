// Writing, reading and validating JSON. Payloads and results are raw JSON text, which the library
// and the server pass on byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// A view of one JSON value, for a payload that is read without another library. It points into the
// text that it was made of. A question about another kind of value has no answer.
class JsonView {
 public:
  JsonView() = default;  // of nothing
  // Of nothing if `text` is not JSON, see is_json().
  explicit JsonView(std::string_view text);

  explicit operator bool() const { return !text_.empty(); }
  std::string_view text() const { return text_; }  // as it was written; empty: nothing

  bool is_null() const { return text_ == "null"; }
  bool is_array() const { return text_.starts_with('['); }
  bool is_object() const { return text_.starts_with('{'); }
  std::optional<bool> boolean() const;
  // Whole numbers without a fraction or exponent that fit.
  std::optional<std::int64_t> integer() const;
  std::optional<std::uint64_t> natural() const;
  std::optional<double> number() const;
  std::optional<std::string> string() const;

  std::vector<JsonView> elements() const;  // of an array
  std::vector<std::pair<std::string, JsonView>> members() const;
  // The member of an object, the last one of that name; nothing if there is none.
  JsonView operator[](std::string_view name) const;

 private:
  std::string_view text_{};
};

// The integer member `name` of the JSON object `json`.
std::optional<std::int64_t> read_integer(std::string_view json, std::string_view name);

}  // namespace millrace::sdk
