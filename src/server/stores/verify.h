// `millrace admin verify`: checks the content of a directory or a database row by row.
#pragma once

#include <string>

namespace millrace::server {

// Prints its findings to standard output if the store is sound, else to standard error. Returns the
// exit code: 0 sound; 1 damaged or unreadable; 5 in use, so not checked.
int verify_directory(const std::string& directory);
// The same for a database, given its URL. Servers may be using it.
int verify_database(const std::string& url);

}  // namespace millrace::server
