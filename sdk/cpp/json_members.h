// Writes members of objects, and leaves out those that are empty or unset.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "millrace/json.h"
#include "millrace/shapes.h"

namespace millrace::sdk {

inline void member(JsonWriter& json, std::string_view name, std::string_view value) {
  if (!value.empty()) json.key(name).string(value);
}

inline void member(JsonWriter& json, std::string_view name, std::optional<int> value) {
  if (value) json.key(name).integer(*value);
}

inline void member(JsonWriter& json, std::string_view name, std::optional<Milliseconds> value) {
  if (value) json.key(name).integer(value->count());
}

inline void member(JsonWriter& json, std::string_view name, std::optional<Timestamp> value) {
  if (value) json.key(name).string(format_rfc3339(*value));
}

inline void member(JsonWriter& json, std::string_view name,
                   const std::vector<std::string>& values) {
  if (values.empty()) return;
  json.key(name).begin_array();
  for (const std::string& value : values) json.string(value);
  json.end_array();
}

inline void member(JsonWriter& json, std::string_view name, std::optional<std::int64_t> value) {
  if (value) json.key(name).integer(*value);
}

inline void member(JsonWriter& json, std::string_view name, std::optional<double> value) {
  if (value) json.key(name).number(*value);
}

inline void member(JsonWriter& json, std::string_view name, std::optional<bool> value) {
  if (value) json.key(name).boolean(*value);
}

inline void member(JsonWriter& json, std::string_view name,
                   const std::vector<Milliseconds>& values) {
  if (values.empty()) return;
  json.key(name).begin_array();
  for (const Milliseconds value : values) json.integer(value.count());
  json.end_array();
}

inline void member(JsonWriter& json, std::string_view name, const Meta& values) {
  if (values.empty()) return;
  json.key(name).begin_object();
  for (const auto& [key, value] : values) json.key(key).string(value);
  json.end_object();
}

// A structure with a write_members().
template <typename T>
concept Written = requires(JsonWriter& json, const T& from) { write_members(json, from); };

template <Written T>
void object(JsonWriter& json, const T& from) {
  json.begin_object();
  write_members(json, from);
  json.end_object();
}

template <Written T>
void member(JsonWriter& json, std::string_view name, const std::optional<T>& from) {
  if (from) object(json.key(name), *from);
}

template <Written T>
void member(JsonWriter& json, std::string_view name, const std::vector<T>& from) {
  if (from.empty()) return;
  json.key(name).begin_array();
  for (const T& each : from) object(json, each);
  json.end_array();
}

}  // namespace millrace::sdk
