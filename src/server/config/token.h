// `millrace token new`: makes a random token and its lines for the configuration file.
#pragma once

#include <string>

#include "service/auth.h"

namespace millrace::server {

struct IssuedToken {
  std::string text;                 // shown once, never stored; empty if a certificate replaces it
  service::TokenSettings settings;  // with `hash` or `certificate` set
};
IssuedToken issue_token(service::TokenSettings settings);

// A [[tokens]] table in TOML.
std::string token_toml(const service::TokenSettings& settings);

// Checks a token's settings. The error names the token if it has a name.
Status check_token(const service::TokenSettings& settings);

}  // namespace millrace::server
