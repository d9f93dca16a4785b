// The scopes of tokens.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::api {

// kNone: open to everyone. No call requires kPayload: it adds payloads, results, checkpoints, error
// texts and log lines to the answers of other calls.
enum class Scope : std::uint8_t { kNone, kSubmit, kWork, kRead, kOperate, kAdmin, kPayload };
std::string_view name_of(Scope scope);

}  // namespace millrace::api
