#include "store/sqlite/repair.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include "store/sqlite/directory.h"
#include "store/sqlite/verify.h"

namespace millrace::store {
namespace {

std::string mark_of(const std::string& database_path) {
  return database_path + std::string(kSuspectSuffix);
}

Status copy_to_new_file(const std::string& from, const std::string& to, Part part) {
  for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) {
    if (Status removed = remove_file(to + suffix); !removed) return removed;
  }
  {
    auto source = open_part(from, part, std::nullopt);
    if (!source) return std::unexpected(source.error());
    // The damaged file itself is no longer written to.
    if (Status kept = (*source)->keep_wal_on_close(); !kept) return kept;
    if (Status copied = copy_database(**source, to); !copied) return copied;
  }
  return verify_database(to, part);
}

}  // namespace

void mark_suspect(const std::string& database_path, const Logger& log) {
  const std::string reason = "a sync of this database failed; the next start copies it\n";
  if (Status written = write_small_file(mark_of(database_path), reason); !written) {
    log.error("the server can't mark a suspect database", {{"why", written.error().message}});
  }
}

Status repair_if_suspect(const std::string& database_path, Part part, const Logger& log) {
  if (!file_exists(mark_of(database_path))) return {};
  log.warn("a sync failed in an earlier run; the server copies the database before it uses it",
           {{"file", database_path}});
  const std::string copy = database_path + ".copy";
  if (Status copied = copy_to_new_file(database_path, copy, part); !copied) return copied;
  // If this is interrupted here, the old log beside the new file does no harm: page by page it
  // holds the same database.
  if (Status placed = rename_file(copy, database_path); !placed) return placed;
  for (const char* const suffix : {"-wal", "-shm"}) {
    if (Status removed = remove_file(database_path + suffix); !removed) return removed;
  }
  if (Status synced = sync_directory_of(database_path); !synced) return synced;
  if (Status removed = remove_file(mark_of(database_path)); !removed) return removed;
  if (Status synced = sync_directory_of(database_path); !synced) return synced;
  log.info("the server now uses the copy", {{"file", database_path}});
  return {};
}

Status copy_database(Database& source, const std::string& to) {
  {
    if (Status made = make_private_file(to); !made) return made;
    // Paced: a backup is made while the server commits.
    auto target = Database::open(to, Access::kReadWrite, Writes::kPaced);
    if (!target) return std::unexpected(target.error());
    // Synced as a whole below; an interrupted copy is discarded.
    if (Status set = (*target)->execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
        !set) {
      return set;
    }
    sqlite3_backup* const backup =
        sqlite3_backup_init((*target)->handle(), "main", source.handle(), "main");
    if (backup == nullptr) return (*target)->failure("copy to");
    const int code = sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    if (code == SQLITE_IOERR_DATA) return failure(source.altered_page());
    if (code != SQLITE_DONE) {
      return failure(
          fmt::format("can't copy {} to {}: {}", source.path(), to, sqlite3_errstr(code)));
    }
  }
  if (Status synced = sync_file(to); !synced) return synced;
  return sync_directory_of(to);
}

}  // namespace millrace::store
