// For applications that use the library nlohmann::json: gives every type that it can convert a
// Codec. Include this instead of specialising Codec.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "millrace/codec.h"

namespace millrace::sdk {

template <typename T>
  requires(!detail::kIsBuiltIn<T> &&
           requires(const T& value, const nlohmann::json& json) {
             nlohmann::json(value);
             json.get<T>();
           })
struct Codec<T> {
  static std::string encode(const T& value) try {
    return nlohmann::json(value).dump();
  } catch (const nlohmann::json::exception& fault) {
    throw BadJson(fault.what());
  }
  static T decode(std::string_view json) try {
    return nlohmann::json::parse(json).get<T>();
  } catch (const nlohmann::json::exception& fault) {
    throw BadJson(fault.what());
  }
};

}  // namespace millrace::sdk
