// `millrace init`: a configuration file that lists and explains every key.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/config/config.h"

namespace millrace::server {

// The file's text. Keys in `values` are set to their text; every other key is commented out with
// its default. `notes` has a line to add to a key's explanation on this machine.
std::string config_template(const std::map<std::string, std::string>& values,
                            const std::map<std::string, std::string>& notes,
                            const std::vector<service::TokenSettings>& tokens);

}  // namespace millrace::server
