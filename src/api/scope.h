// What a token may be good for.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::api {

// kNone: open to everyone. kPayload is no call's: with it, payloads, results, checkpoints, texts of
// errors and log lines are shown in what other calls answer.
enum class Scope : std::uint8_t { kNone, kSubmit, kWork, kRead, kOperate, kAdmin, kPayload };
std::string_view name_of(Scope scope);

}  // namespace millrace::api
