// After a failed sync nobody knows what a file holds on disk: the system may show pages that it
// failed to write. Such a file is marked, and the next start copies what can be read of it to a new
// file, syncs that, checks it and puts it in place: what it holds stands.
#pragma once

#include <string>

#include "base/log.h"
#include "base/result.h"
#include "store/sqlite/database.h"
#include "store/sqlite/schema.h"

namespace millrace::store {

// As well as it can: the disk may not take the mark either.
void mark_suspect(const std::string& database_path, const Logger& log);

// Does nothing where the mark is missing. May be broken off at any point and begun again.
Status repair_if_suspect(const std::string& database_path, Part part, const Logger& log);

// A copy of the database as `source` sees it now, to a new file; synced. Does not checkpoint.
Status copy_database(Database& source, const std::string& to);

}  // namespace millrace::store
