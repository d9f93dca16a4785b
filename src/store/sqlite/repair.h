// After a failed sync the content of a file on disk is unknown: the system may return pages from
// its cache that it failed to write. Such a file is marked. The next start copies its readable
// content to a new file, syncs and checks the copy, and puts it in place. The copy's content then
// counts.
#pragma once

#include <string>

#include "base/log.h"
#include "base/result.h"
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"

namespace millrace::store {

// Best effort: the disk may refuse the mark too.
void mark_suspect(const std::string& database_path, const Logger& log);

// Does nothing if there is no mark. May be interrupted at any point and run again.
Status repair_if_suspect(const std::string& database_path, Part part, const Logger& log);

// Copies the current state of the database `source` to a new file, and syncs that. Does not
// checkpoint.
Status copy_database(Database& source, const std::string& to);

}  // namespace millrace::store
