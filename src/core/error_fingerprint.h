// Errors that differ only in numbers, ids, addresses and quoted text are one error to the person
// who must mend it.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::core {

// A hash of the type and of the message with digits, hexadecimal words and quoted text taken out.
// Stable for ever: it is stored. Not zero.
std::uint64_t error_fingerprint(std::string_view type, std::string_view message);

}  // namespace millrace::core
