// `millrace admin restore`: makes a data directory from a backup and, optionally, an archive up to
// a given time; or fills a database from a database's backup.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace millrace::server {

struct RestoreOptions {
  std::string backup;   // a backup, or the directory of a stopped server
  std::string archive;  // empty: none
  // Restores everything up to this time and nothing later. None: everything.
  std::optional<Time> until;
  std::string to;        // empty: restore into the database
  std::string postgres;  // its URL; empty: restore into the directory
  bool json = false;
};

// Prints to standard error what it did, or why it did nothing. Returns the exit code: 0 done; 1 the
// backup or the archive can't provide it; 2 the target can't be used; 5 the backup is a directory
// that a server uses.
int restore_backup(const RestoreOptions& options);

}  // namespace millrace::server
