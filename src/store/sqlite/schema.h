// The content of the two databases: their migrations, identity and settings.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/sqlite/database.h"

namespace millrace::store {

// Which of the two files; each has its own numbered migrations.
enum class Part : std::uint8_t { kJournal, kTables };

// Opens the file and migrates it to this version's format. Fails, with the reason, for a file that
// is not a database, is damaged, belongs to another program, or has a newer version. `create_as`:
// the id of the store to create the file for if it is missing or empty; none: the file must exist.
Result<std::unique_ptr<Database>> open_part(const std::string& path, Part part,
                                            const std::optional<std::string>& create_as);

// Opens the file for reading and changes nothing.
Result<std::unique_ptr<Database>> open_part_for_reading(const std::string& path, Part part);

// Whether the database is empty because its creation was interrupted at the start. May complete an
// interrupted operation in the file.
Result<bool> is_blank(const std::string& path);

int page_size_of(Part part);

// The id of the store that the file belongs to.
Result<std::string> store_id_of(Database& database);

}  // namespace millrace::store
