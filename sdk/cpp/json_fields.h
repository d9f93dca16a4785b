// Helpers for the JSON cursor: iterate over an object's members, read a value if it is present and
// of the right type, skip everything else.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_check.h"
#include "base/json_cursor.h"
#include "base/time.h"
#include "millrace/job.h"

namespace millrace::sdk {

using JsonValue = JsonCursor;  // before a value; copying it allows reading again

// The text of a value as sent.
inline std::string raw_text(JsonValue value) { return std::string(value.skip()); }

// The text of a string's body, as a view of it or of `scratch`; none if it is invalid.
inline std::optional<std::string_view> text_of(std::string_view body, std::string& scratch) {
  if (body.find('\\') == std::string_view::npos) return body;
  if (unescape_json(body, scratch) == Unescaped::kLoneSurrogate) return std::nullopt;
  return scratch;
}

// Calls visit(name, value) for each member. False: `value` is not an object.
template <typename Visit>
bool each_member(JsonValue value, Visit&& visit) {
  if (value.type() != JsonType::kObject) return false;
  std::string scratch;
  std::string_view body;
  for (value.enter(); value.next_member(body); value.skip()) {
    if (const auto name = text_of(body, scratch)) visit(*name, value);
  }
  return true;
}

// Calls visit(value) for each element. False: `value` is not an array.
template <typename Visit>
bool each_element(JsonValue value, Visit&& visit) {
  if (value.type() != JsonType::kArray) return false;
  for (value.enter(); value.next_element(); value.skip()) visit(value);
  return true;
}

// Leaves `out` unchanged if the value is of the wrong type or does not fit.
inline void read(JsonValue value, std::string& out) {
  if (value.type() != JsonType::kString) return;
  std::string scratch;
  if (const auto text = text_of(value.string_body(), scratch)) out = *text;
}

inline void read(JsonValue value, bool& out) {
  if (value.type() == JsonType::kBoolean) out = value.boolean();
}

inline void read(JsonValue value, std::optional<bool>& out) {
  if (value.type() == JsonType::kBoolean) out = value.boolean();
}

template <typename Number>
std::optional<Number> number_of(JsonValue value) {
  if (value.type() != JsonType::kNumber) return std::nullopt;
  const std::string_view text = value.number();
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

template <typename Number>
  requires std::is_arithmetic_v<Number>
void read(JsonValue value, Number& out) {
  if (const auto number = number_of<Number>(value)) out = *number;
}

template <typename Number>
  requires std::is_arithmetic_v<Number>
void read(JsonValue value, std::optional<Number>& out) {
  if (const auto number = number_of<Number>(value)) out = *number;
}

inline void read(JsonValue value, std::optional<Milliseconds>& out) {
  if (const auto number = number_of<std::int64_t>(value)) out = Milliseconds{*number};
}

inline void read(JsonValue value, std::optional<Timestamp>& out) {
  std::string text;
  read(value, text);
  if (const auto time = parse_rfc3339(text)) out = time;
}

inline void read(JsonValue value, std::vector<std::string>& out) {
  each_element(value, [&out](JsonValue element) {
    std::string text;
    read(element, text);
    out.push_back(std::move(text));
  });
}

inline void read(JsonValue value, std::vector<Milliseconds>& out) {
  each_element(value, [&out](JsonValue element) {
    out.push_back(Milliseconds{number_of<std::int64_t>(element).value_or(0)});
  });
}

inline void read(JsonValue value, std::vector<Timestamp>& out) {
  each_element(value, [&out](JsonValue element) {
    std::optional<Timestamp> time;
    read(element, time);
    if (time) out.push_back(*time);
  });
}

inline void read(JsonValue value, Meta& out) {
  each_member(value, [&out](std::string_view name, JsonValue content) {
    std::string text;
    read(content, text);
    out.emplace_back(name, std::move(text));
  });
}

// A structure with a read_members().
template <typename T>
concept Structure = requires(JsonValue value, T& out) {
  { read_members(value, out) } -> std::same_as<bool>;
};

template <Structure T>
void read(JsonValue value, T& out) {
  read_members(value, out);
}

// Here and below, what keeps its text keeps it.
template <Structure T>
void read(JsonValue value, std::optional<T>& out) {
  T item;
  if constexpr (requires { item.json; }) item.json = raw_text(value);
  if (read_members(value, item)) out = std::move(item);
}

template <Structure T>
void read(JsonValue value, std::vector<T>& out) {
  each_element(value, [&out](JsonValue element) {
    T item;
    if constexpr (requires { item.json; }) item.json = raw_text(element);
    read_members(element, item);
    out.push_back(std::move(item));
  });
}

// Calls visit(root value). False: `json` is not JSON.
template <typename Visit>
bool with_document(std::string_view json, Visit&& visit) {
  if (check_json(json, kMaxJsonDepth, LoneSurrogates::kKept)) return false;
  return visit(JsonValue(json));
}

}  // namespace millrace::sdk
