// Signatures by the Standard Webhooks scheme. A holder of the secret can verify that a call came
// from this server, when, and with which body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::push {

inline constexpr std::string_view kSecretPrefix = "whsec_";

// Decodes a key of 24 to 64 bytes from "whsec_" and base64. The error describes the expected form.
Result<std::string> secret_key(std::string_view secret);

// The value of `webhook-signature`: one signature for each key, the newest key first.
std::string signature(const std::vector<std::string>& keys, std::string_view id,
                      std::int64_t unix_seconds, std::string_view body);

}  // namespace millrace::push
