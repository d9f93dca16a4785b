// What the two databases hold: their migrations, their identity, their settings.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/sqlite/database.h"

namespace millrace::store {

// Which of the two files; each knows its own number of migrations.
enum class Part : std::uint8_t { kJournal, kTables };

// Opens the file and brings it to this version's format, or says why not: no database, a damaged
// one, somebody else's, of a newer version. `create_as`: the id of the store that the file is made
// for where there is none (or an empty one); none: it must be there.
Result<std::unique_ptr<Database>> open_part(const std::string& path, Part part,
                                            const std::optional<std::string>& create_as);

// Like it for a reader: changes nothing.
Result<std::unique_ptr<Database>> open_part_for_reading(const std::string& path, Part part);

// A database in which nothing was made yet: its making was broken off right at the start. May
// finish what was broken off in the file.
Result<bool> is_blank(const std::string& path);

int page_size_of(Part part);

// The store that the file belongs to.
Result<std::string> store_id_of(Database& database);

}  // namespace millrace::store
