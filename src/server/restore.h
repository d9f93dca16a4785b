// `millrace admin restore`: makes a data directory of a backup, and of an archive up to a time; or
// fills a database from a backup of one.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace millrace::server {

struct RestoreOptions {
  std::string backup;   // a backup, or the directory of a stopped server
  std::string archive;  // empty: none
  // All that happened until then is restored, and nothing that came later. None: all there is.
  std::optional<Time> until;
  std::string to;        // empty: into the database
  std::string postgres;  // its URL; empty: into the directory
  bool json = false;
};

// Prints what it did, or why it did nothing, to standard error. Returns the exit code: 0 done; 1
// the backup or the archive does not give it; 2 the target can't be used; 5 the backup is a
// directory that a server uses.
int restore_backup(const RestoreOptions& options);

}  // namespace millrace::server
