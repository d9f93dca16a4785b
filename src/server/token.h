// `millrace token new`: a token from the system's randomness, and its lines for the configuration
// file.
#pragma once

#include <string>

#include "service/auth.h"

namespace millrace::server {

struct IssuedToken {
  std::string text;                 // shown once, kept nowhere
  service::TokenSettings settings;  // `hash` filled in
};
IssuedToken issue_token(service::TokenSettings settings);

// A [[tokens]] table.
std::string token_toml(const service::TokenSettings& settings);

// What is wrong with a token's settings; an error names the token where it has a name.
Status check_token(const service::TokenSettings& settings);

}  // namespace millrace::server
