// `millrace init`: a configuration file in which every key stands, with what it means.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/config/config.h"

namespace millrace::server {

// The file's text. A key of `values` is set to its text; every other one stands in a comment, with
// its default. `notes` has what is worth saying of a key on this machine: a line each.
std::string config_template(const std::map<std::string, std::string>& values,
                            const std::map<std::string, std::string>& notes,
                            const std::vector<service::TokenSettings>& tokens);

}  // namespace millrace::server
