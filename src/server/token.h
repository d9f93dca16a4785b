// `millrace token new`: makes a random token, and its lines for the configuration file.
#pragma once

#include <string>

#include "http/auth.h"

namespace millrace::server {

struct IssuedToken {
  std::string text;              // shown once, never stored
  http::TokenSettings settings;  // with `hash` set
};
IssuedToken issue_token(http::TokenSettings settings);

// A [[tokens]] table in TOML.
std::string token_toml(const http::TokenSettings& settings);

// What is wrong with a token's settings; the error names the token if it has a name.
Status check_token(const http::TokenSettings& settings);

}  // namespace millrace::server
