// Small words on top of simdjson's On-Demand reader: walk an object's members, take a value where
// it is there and of the right kind, pass over everything else.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "millrace/job.h"

namespace millrace::sdk {

using JsonValue = simdjson::ondemand::value;

// The text of a value as it was sent.
inline std::string raw_text(JsonValue value) {
  std::string_view raw;
  if (simdjson::to_json_string(value).get(raw) != simdjson::SUCCESS) return {};
  const std::size_t end = raw.find_last_not_of(" \t\r\n");
  return std::string(raw.substr(0, end == std::string_view::npos ? 0 : end + 1));
}

// Calls visit(name, value) for each member. False when `value` is no object or is broken.
template <typename Visit>
bool each_member(JsonValue value, Visit&& visit) {
  simdjson::ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  for (auto member : object) {
    std::string_view name;
    JsonValue content;
    if (member.unescaped_key().get(name) != simdjson::SUCCESS) return false;
    if (member.value().get(content) != simdjson::SUCCESS) return false;
    visit(name, content);
  }
  return true;
}

// Calls visit(value) for each element. False when `value` is no array or is broken.
template <typename Visit>
bool each_element(JsonValue value, Visit&& visit) {
  simdjson::ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return false;
  for (auto element : array) {
    JsonValue content;
    if (element.get(content) != simdjson::SUCCESS) return false;
    visit(content);
  }
  return true;
}

inline void read(JsonValue value, std::string& out) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) out = text;
}

// `out` stays as it was when the value is of another kind.
template <typename T>
void read_scalar(simdjson::simdjson_result<T> value, T& out) {
  T found{};
  if (std::move(value).get(found) == simdjson::SUCCESS) out = found;
}

inline void read(JsonValue value, bool& out) { read_scalar(value.get_bool(), out); }
inline void read(JsonValue value, double& out) { read_scalar(value.get_double(), out); }
inline void read(JsonValue value, std::int64_t& out) { read_scalar(value.get_int64(), out); }
inline void read(JsonValue value, std::uint64_t& out) { read_scalar(value.get_uint64(), out); }

inline void read(JsonValue value, int& out) {
  std::int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) out = static_cast<int>(number);
}

inline void read(JsonValue value, std::optional<double>& out) {
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS) out = number;
}

inline void read(JsonValue value, std::optional<std::int64_t>& out) {
  std::int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) out = number;
}

inline void read(JsonValue value, std::optional<Milliseconds>& out) {
  std::int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) out = Milliseconds{number};
}

inline void read(JsonValue value, std::optional<Timestamp>& out) {
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) out = parse_rfc3339(text);
}

inline void read(JsonValue value, std::vector<std::string>& out) {
  each_element(value, [&out](JsonValue element) {
    std::string text;
    read(element, text);
    out.push_back(std::move(text));
  });
}

inline void read(JsonValue value, Meta& out) {
  each_member(value, [&out](std::string_view name, JsonValue content) {
    std::string text;
    read(content, text);
    out.emplace_back(name, std::move(text));
  });
}

// Parses `json` and calls visit(root value). False when it is not JSON.
template <typename Visit>
bool with_document(std::string_view json, Visit&& visit) {
  const simdjson::padded_string padded(json);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return false;
  JsonValue root;
  if (document.get_value().get(root) != simdjson::SUCCESS) return false;
  return visit(root);
}

}  // namespace millrace::sdk
