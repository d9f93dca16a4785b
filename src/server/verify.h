// `millrace admin verify`: what a directory holds, checked row by row.
#pragma once

#include <string>

namespace millrace::server {

// Tells what it found: on standard output where all is well, else on standard error. Returns the
// exit code: 0 sound, 1 damaged or not to be read, 5 in use, so that nothing is known.
int verify_directory(const std::string& directory);

}  // namespace millrace::server
