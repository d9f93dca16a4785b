// The methods of HTTP.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::api {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOther };
std::string_view name_of(Method method);

}  // namespace millrace::api
