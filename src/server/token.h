// API tokens: how they look, what is kept of them, what their tables may say.
//
//   mlr_<id, 12>_<secret, 43>_<check, 6>      base62; the secret holds 256 bits, the check catches
//   a slip in copying
//
// The configuration keeps "sha256:<hex>" of the whole text. A secret of 256 bits needs no slow
// hash.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "server/config.h"

namespace millrace::server {

struct NewToken {
  std::string text;  // shown once, kept nowhere
  TokenEntry entry;
};

// From the system's randomness.
NewToken make_token(TokenEntry entry);

// "sha256:" and 64 hexadecimal digits.
std::string token_hash(std::string_view text);

// The lines for the configuration file.
std::string token_toml(const TokenEntry& entry);

// What is wrong with an entry of the file, each a sentence; empty: nothing.
std::vector<std::string> token_faults(const TokenEntry& entry);

}  // namespace millrace::server
