// Looking at every page of a database's file, also at those that nothing reads for years.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"

namespace millrace::store {

// A sentence for each page that is not what was written, up to `most`. Works on what can't even be
// opened as a database, and beside a process that writes to it. Pages that the write-ahead log
// holds don't count: a crash may leave them half written, and nobody reads them before they are
// written again from the log.
Result<std::vector<std::string>> scrub(Database& database, int page_size, std::size_t most);

}  // namespace millrace::store
