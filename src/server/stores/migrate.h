// `millrace admin migrate`: shows and migrates the schema of a PostgreSQL database.
#pragma once

#include <string>

namespace millrace::server {

enum class Migrate : std::uint8_t { kStatus, kUp };

// Prints what it finds and does; returns the process's exit code.
int migrate_database(const std::string& url, Migrate what);

}  // namespace millrace::server
