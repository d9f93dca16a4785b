// Treats errors that differ only in numbers, ids, addresses and quoted text as one error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::core {

// A hash of the type and of the message without digits, hexadecimal words and quoted text. Stored,
// so the function must never change. Never zero.
std::uint64_t error_fingerprint(std::string_view type, std::string_view message);

// The message as hashed: `<text>` replaces quoted text, `#` replaces words with a digit.
std::string error_pattern(std::string_view message);

}  // namespace millrace::core
