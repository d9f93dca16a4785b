// `millrace admin verify`: checks the content of a directory or a database row by row.
#pragma once

#include <string>

namespace millrace::server {

// Prints what it found: on standard output if the store is sound, else on standard error. Returns
// the exit code: 0 sound; 1 damaged or unreadable; 5 in use, so that nothing is known.
int verify_directory(const std::string& directory);
// The same of a database by its URL, which servers may be using.
int verify_database(const std::string& url);

}  // namespace millrace::server
