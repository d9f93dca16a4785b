// Checks every page of a database's file, including pages that nothing reads for years.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"

namespace millrace::store {

// Returns a sentence for each altered page, up to `most`. Works on a file that cannot be opened as
// a database, and beside a process that writes to it. Ignores pages that the write-ahead log holds:
// a crash may leave them half written, and they are written again from the log before anyone reads
// them.
Result<std::vector<std::string>> scrub(Database& database, int page_size, std::size_t most);

}  // namespace millrace::store
