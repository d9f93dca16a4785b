#include "store/sqlite/sqlite_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "store/sqlite/directory.h"
#include "store/sqlite/repair.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_backup.h"
#include "store/sqlite/sqlite_journal.h"
#include "store/sqlite/sqlite_tables.h"

namespace millrace::store {
namespace {

std::string new_store_id() {
  return fmt::format("{:016x}{:016x}", system_random(), system_random());
}

struct Identity {
  std::string id;
  bool marked = false;  // the store was completed once: nothing of it is created again
};

// A marked store must be complete.
Result<Identity> identity_from_marker(const Directory& directory, std::string_view marker) {
  constexpr std::size_t kIdBytes = 32;
  std::string id;
  if (marker.size() > kIdBytes) id = marker.substr(marker.size() - 1 - kIdBytes, kIdBytes);
  if (marker != marker_of(id)) {
    return failure(fmt::format("{} is damaged; `millrace admin verify {}` says what it should be",
                               directory.file(kMarkerFile), directory.path()));
  }
  for (const std::string_view name : {kJournalFile, kTablesFile}) {
    if (file_has_content(directory.file(name))) continue;
    return failure(
        fmt::format("{} is missing or empty, but {} says that this directory had a store with "
                    "data; put the file back, or restore a backup into an empty directory",
                    directory.file(name), kMarkerFile));
  }
  return Identity{id, true};
}

// No marker: a new store, or one whose creation was interrupted. It has never held data.
Result<Identity> identity_of_unmarked(const Directory& directory) {
  if (file_exists(directory.file(kRestoring))) {
    return failure(
        fmt::format("{} is what an interrupted restore left; remove it, and restore again",
                    directory.file(kRestoring)));
  }
  const bool journal = file_has_content(directory.file(kJournalFile));
  const bool tables = file_has_content(directory.file(kTablesFile));
  if (!journal && tables) {
    return failure(
        fmt::format("{} exists, but {} is missing; put the file back, or restore a backup into an "
                    "empty directory",
                    directory.file(kTablesFile), kJournalFile));
  }
  if (!journal) return Identity{new_store_id(), false};
  // Its creation may have been interrupted before the file had any content, even the store's id.
  const auto blank = is_blank(directory.file(kJournalFile));
  if (!blank) return std::unexpected(blank.error());
  if (*blank) return Identity{new_store_id(), false};
  auto database = open_part_for_reading(directory.file(kJournalFile), Part::kJournal);
  if (!database) return std::unexpected(database.error());
  Statement any_row(**database, "SELECT 1 FROM journal LIMIT 1");
  if (any_row.begin().row() && !tables) {
    return failure(
        fmt::format("{} holds data, but {} is missing; put the file back, or restore a backup into "
                    "an empty directory",
                    directory.file(kJournalFile), kTablesFile));
  }
  any_row.reset();
  auto id = store_id_of(**database);
  if (!id) return std::unexpected(id.error());
  return Identity{std::move(*id), false};
}

Result<Identity> identity_of(const Directory& directory) {
  const auto marker = read_small_file(directory.file(kMarkerFile));
  if (!marker) return std::unexpected(marker.error());
  return *marker ? identity_from_marker(directory, **marker) : identity_of_unmarked(directory);
}

// Opens the file of the right store and syncs every commit of earlier runs. Otherwise a row that is
// only in the system's memory could be answered now and lost in a power failure later.
Result<std::unique_ptr<Database>> open_writer(const Directory& directory, std::string_view name,
                                              Part part, const Identity& identity,
                                              const Logger& log) {
  const std::string path = directory.file(name);
  if (Status repaired = repair_if_suspect(path, part, log); !repaired) {
    return std::unexpected(repaired.error());
  }
  const auto create_as = identity.marked ? std::nullopt : std::optional(identity.id);
  auto database = open_part(path, part, create_as);
  if (!database) return database;
  const auto id = store_id_of(**database);
  if (!id) return std::unexpected(id.error());
  if (*id != identity.id) {
    return failure(
        fmt::format("{} belongs to store {}, and the other files belong to store {}; put back the "
                    "files of one store",
                    path, *id, identity.id));
  }
  if (Status moved = (*database)->checkpoint(Database::Checkpoint::kTruncate); !moved) {
    if ((*database)->sync_failed()) mark_suspect(path, log);
    return std::unexpected(moved.error());
  }
  return database;
}

}  // namespace

Result<Store> open_sqlite_store(const SqliteOptions& options) {
  MILLRACE_CHECK(options.clock != nullptr);
  auto locked = Directory::lock(options.directory);
  if (!locked) return std::unexpected(locked.error());
  const std::shared_ptr<const Directory> directory = std::move(*locked);
  if (const auto doubtful = directory->doubtful_file_system()) {
    options.log.warn("the data directory is on a file system that may lose or mix up data",
                     {{"directory", directory->path()}, {"file_system", *doubtful}});
  }
  const auto identity = identity_of(*directory);
  if (!identity) return std::unexpected(identity.error());
  auto journal_db = open_writer(*directory, kJournalFile, Part::kJournal, *identity, options.log);
  if (!journal_db) return std::unexpected(journal_db.error());
  auto tables_db = open_writer(*directory, kTablesFile, Part::kTables, *identity, options.log);
  if (!tables_db) return std::unexpected(tables_db.error());
  const std::string cache = fmt::format("PRAGMA cache_size = -{}", options.cache_bytes / 1024);
  if (Status set = (*tables_db)->execute(cache.c_str()); !set) return std::unexpected(set.error());
  // The write-ahead logs have new names in the directory. SQLite syncs the directory once and
  // ignores the result; if that sync failed, a power failure could remove a log with everything in
  // it.
  if (Status synced = sync_directory_of(directory->file(kJournalFile)); !synced) {
    return std::unexpected(synced.error());
  }
  if (!identity->marked) {
    if (Status written = write_small_file(directory->file(kMarkerFile), marker_of(identity->id));
        !written) {
      return std::unexpected(written.error());
    }
  }

  auto journal = SqliteJournal::open(directory, std::move(*journal_db), options.log);
  if (!journal) return std::unexpected(journal.error());
  auto tables = SqliteTables::open(directory, std::move(*tables_db), options.clock, options.log);
  if (!tables) return std::unexpected(tables.error());
  return Store{identity->id, std::move(*journal), std::move(*tables),
               std::make_unique<SqliteBackup>(directory->path())};
}

std::string_view sqlite_version() { return sqlite3_libversion(); }

}  // namespace millrace::store
