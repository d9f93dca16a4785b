// `millrace admin verify`: what a directory holds, checked row by row.
#pragma once

#include <string>

namespace millrace::server {

// Tells what it found: on standard output where all is well, else on standard error.
bool verify_directory(const std::string& directory);

}  // namespace millrace::server
