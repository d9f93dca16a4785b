// SHA-256, by OpenSSL.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace {

using Sha256 = std::array<std::uint8_t, 32>;

// Of the two texts, concatenated.
Sha256 sha256(std::string_view first, std::string_view second = {});

}  // namespace millrace
