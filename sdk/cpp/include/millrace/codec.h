// Payloads and results as the application's own types. A type with a Codec can be submitted,
// received by a handler and returned from one. There are codecs for numbers, bool, std::string,
// std::optional, std::vector, std::map with string keys, std::monostate (null) and RawJson. There
// are three ways to support a structure:
//
//   - list its members:  MILLRACE_JSON(Mail, to, subject), from members.h
//   - include "millrace/nlohmann.h", if it has to_json and from_json for that library
//   - specialise Codec, with any other library
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/job.h"
#include "millrace/json.h"

namespace millrace::sdk {

// Thrown by a codec: a value can't be written as JSON, such as NaN, or JSON is not a value of the
// type.
class BadJson : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A specialisation has two static functions: `std::string encode(const T&)` returns one JSON value,
// and `T decode(std::string_view json)` reads one. Both may throw, preferably BadJson.
template <typename T>
struct Codec;

// JSON that is passed on unchanged.
struct RawJson {
  std::string text = "null";
};

template <typename T>
std::string encode(const T& value) {
  if constexpr (std::convertible_to<const T&, std::string_view>) {
    return json_string(value);
  } else {
    return Codec<T>::encode(value);
  }
}

template <typename T>
T decode(std::string_view json) {
  return Codec<T>::decode(json);
}

// A job with the payload `payload`; everything else is taken from `options`.
template <typename Payload>
NewJob new_job(std::string_view type, const Payload& payload, NewJob options = {}) {
  options.type = type;
  options.payload = encode(payload);
  return options;
}

// A type of jobs, which producers and workers share: its name, what its payloads are made of, and
// what its submissions have besides.
//
//   const JobType<Mail> kMail{.name = "mail.send", .options = {.queue = "mail"}};
template <typename Payload>
struct JobType {
  std::string name{};
  NewJob options{};
};

template <typename Payload>
NewJob new_job(const JobType<Payload>& type, const std::type_identity_t<Payload>& payload) {
  return new_job(type.name, payload, type.options);
}

// Reads a submission from JSON in the API's format, for jobs that come from a file. Members that
// are missing or of the wrong type keep their defaults.
NewJob read_new_job(JsonView json);

namespace detail {

template <typename T>
T required(std::optional<T> read, std::string_view wanted, std::string_view json) {
  if (read) return *std::move(read);
  throw BadJson("expected " + std::string(wanted) + " and found " +
                std::string(json.substr(0, 40)));
}

inline JsonView object_of(std::string_view json) {
  const JsonView view(json);
  if (!view.is_object()) required(std::optional<int>(), "an object", json);
  return view;
}

template <typename T>
inline constexpr bool kIsBuiltIn = std::is_arithmetic_v<T>;
template <>
inline constexpr bool kIsBuiltIn<std::string> = true;
template <>
inline constexpr bool kIsBuiltIn<RawJson> = true;
template <>
inline constexpr bool kIsBuiltIn<std::monostate> = true;
template <typename T>
inline constexpr bool kIsBuiltIn<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsBuiltIn<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsBuiltIn<std::map<std::string, T>> = true;

}  // namespace detail

template <>
struct Codec<RawJson> {
  static std::string encode(const RawJson& value) { return value.text; }
  static RawJson decode(std::string_view json) { return {std::string(json)}; }
};

template <>
struct Codec<std::monostate> {
  static std::string encode(std::monostate) { return "null"; }
  static std::monostate decode(std::string_view) { return {}; }
};

template <>
struct Codec<bool> {
  static std::string encode(bool value) { return value ? "true" : "false"; }
  static bool decode(std::string_view json) {
    return detail::required(JsonView(json).boolean(), "true or false", json);
  }
};

template <std::integral T>
struct Codec<T> {
  static std::string encode(T value) { return std::to_string(value); }
  static T decode(std::string_view json) {
    if constexpr (std::is_signed_v<T>) {
      return narrow(JsonView(json).integer(), json);
    } else {
      return narrow(JsonView(json).natural(), json);
    }
  }

 private:
  template <typename Wide>
  static T narrow(std::optional<Wide> read, std::string_view json) {
    if (read && !std::in_range<T>(*read)) read.reset();
    return static_cast<T>(detail::required(read, "a whole number in range", json));
  }
};

template <std::floating_point T>
struct Codec<T> {
  static std::string encode(T value) {
    if (!std::isfinite(value)) throw BadJson("JSON has no infinity and no NaN");
    return JsonWriter().number(static_cast<double>(value)).take();
  }
  static T decode(std::string_view json) {
    return static_cast<T>(detail::required(JsonView(json).number(), "a number", json));
  }
};

template <>
struct Codec<std::string> {
  static std::string encode(const std::string& value) { return json_string(value); }
  static std::string decode(std::string_view json) {
    return detail::required(JsonView(json).string(), "a string", json);
  }
};

template <typename T>
struct Codec<std::optional<T>> {
  static std::string encode(const std::optional<T>& value) {
    return value ? sdk::encode(*value) : "null";
  }
  static std::optional<T> decode(std::string_view json) {
    if (JsonView(json).is_null()) return std::nullopt;
    return sdk::decode<T>(json);
  }
};

template <typename T>
struct Codec<std::vector<T>> {
  static std::string encode(const std::vector<T>& values) {
    JsonWriter json;
    json.begin_array();
    for (const T& value : values) json.raw(sdk::encode(value));
    return json.end_array().take();
  }
  static std::vector<T> decode(std::string_view json) {
    const JsonView array(json);
    if (!array.is_array()) detail::required(std::optional<int>(), "an array", json);
    std::vector<T> values;
    for (const JsonView element : array.elements()) {
      values.push_back(sdk::decode<T>(element.text()));
    }
    return values;
  }
};

template <typename T>
struct Codec<std::map<std::string, T>> {
  static std::string encode(const std::map<std::string, T>& values) {
    JsonWriter json;
    json.begin_object();
    for (const auto& [name, value] : values) json.key(name).raw(sdk::encode(value));
    return json.end_object().take();
  }
  static std::map<std::string, T> decode(std::string_view json) {
    std::map<std::string, T> values;
    for (const auto& [name, value] : detail::object_of(json).members()) {
      values.insert_or_assign(name, sdk::decode<T>(value.text()));
    }
    return values;
  }
};

}  // namespace millrace::sdk
