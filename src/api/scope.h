// What a token may be good for.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::api {

// kNone: open to everyone.
enum class Scope : std::uint8_t { kNone, kSubmit, kWork, kRead, kOperate, kAdmin };
std::string_view name_of(Scope scope);

}  // namespace millrace::api
