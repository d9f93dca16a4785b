// `millrace init`: writes a configuration file for the machine that it finds.
#pragma once

#include <map>
#include <string>

namespace millrace::server {

struct InitOptions {
  std::string file = "millrace.toml";
  std::map<std::string, std::string> values;  // by key: what the operator asks for
  bool force = false;                         // replace a file that is there
};

// Returns the process's exit code. It prints what it did, and a token that it had to make: a server
// that other machines reach needs one.
int init(const InitOptions& options);

}  // namespace millrace::server
