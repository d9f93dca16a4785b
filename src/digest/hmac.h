// HMAC with SHA-256 (RFC 2104).
#pragma once

#include <string_view>

#include "digest/sha256.h"

namespace millrace {

Sha256 hmac_sha256(std::string_view key, std::string_view text);

}  // namespace millrace
