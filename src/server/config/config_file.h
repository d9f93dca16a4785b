// The configuration file: TOML, flattened to dotted keys with the line of each, and the tokens.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "server/config/config.h"

namespace millrace::server {

struct FileValue {
  std::string key;   // "limits.body"
  std::string text;  // a string's content, or a number as written
  std::uint32_t line = 0;
};

struct ConfigFile {
  std::vector<FileValue> values;  // in order of their lines
  std::vector<service::TokenSettings> tokens;
};

// `path` is for messages. Keys are not checked here, except within [[tokens]].
std::expected<ConfigFile, ConfigErrors> parse_config_file(const std::string& content,
                                                          const std::string& path);

}  // namespace millrace::server
