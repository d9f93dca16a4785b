// `millrace init`: writes a configuration file suited to this machine.
#pragma once

#include <map>
#include <string>

namespace millrace::server {

struct InitOptions {
  std::string file = "millrace.toml";
  std::map<std::string, std::string> values;  // by key; set by the operator
  bool force = false;                         // replace an existing file
};

// Returns the process's exit code. Prints what it did, and the token if it made one: a server that
// other machines reach needs a token.
int init(const InitOptions& options);

}  // namespace millrace::server
