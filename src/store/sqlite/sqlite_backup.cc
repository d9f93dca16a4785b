#include "store/sqlite/sqlite_backup.h"

#include <fmt/format.h>

#include <filesystem>

#include "store/sqlite/directory.h"
#include "store/sqlite/repair.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/verify.h"

namespace millrace::store {
namespace {

std::string path_in(const std::string& directory, std::string_view name) {
  return directory + "/" + std::string(name);
}

// Uses a read-only connection of its own, so that those of the running store are not delayed.
Status copy_part(const std::string& from, const std::string& to, std::string_view name, Part part) {
  auto source = open_part_for_reading(path_in(from, name), part);
  if (!source) return std::unexpected(source.error());
  return copy_database(**source, path_in(to, name));
}

Status check_copy(const std::string& directory) {
  for (const auto& [name, part] :
       {std::pair(kTablesFile, Part::kTables), std::pair(kJournalFile, Part::kJournal)}) {
    if (Status verified = verify_database(path_in(directory, name), part); !verified) {
      return verified;
    }
  }
  auto journal = open_part_for_reading(path_in(directory, kJournalFile), Part::kJournal);
  if (!journal) return std::unexpected(journal.error());
  auto tables = open_part_for_reading(path_in(directory, kTablesFile), Part::kTables);
  if (!tables) return std::unexpected(tables.error());
  const auto problems = examine_continuity(**journal, **tables);
  if (!problems) return std::unexpected(problems.error());
  if (!problems->empty()) return failure(fmt::format("the copy is damaged: {}", problems->front()));
  return {};
}

// Tables first: the journal may be ahead of them, but never behind.
Status copy_store(const std::string& from, const std::string& to) {
  if (Status done = copy_part(from, to, kTablesFile, Part::kTables); !done) return done;
  if (Status done = copy_part(from, to, kJournalFile, Part::kJournal); !done) return done;
  if (Status done = check_copy(to); !done) return done;
  const auto marker = read_small_file(path_in(from, kMarkerFile));
  if (!marker) return std::unexpected(marker.error());
  if (!*marker) return failure(fmt::format("{} is missing", path_in(from, kMarkerFile)));
  return write_small_file(path_in(to, kMarkerFile), **marker);
}

void remove_copy(const std::string& directory) {
  for (const std::string_view name : {kTablesFile, kJournalFile, kMarkerFile}) {
    for (const char* const suffix : {"", "-journal", "-wal", "-shm"}) {
      static_cast<void>(remove_file(path_in(directory, name) + suffix));
    }
  }
}

}  // namespace

Status SqliteBackup::backup_to(const std::string& directory) {
  std::error_code error;
  const bool existed = std::filesystem::exists(directory, error);
  if (existed && !std::filesystem::is_empty(directory, error)) {
    return failure(fmt::format("{} is not empty; choose a new or an empty directory", directory));
  }
  std::filesystem::create_directories(directory, error);
  if (error) return failure(fmt::format("can't create {}: {}", directory, error.message()));
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  Status copied = copy_store(source_, directory);
  if (!copied) {
    remove_copy(directory);
    if (!existed) std::filesystem::remove(directory, error);
  }
  return copied;
}

}  // namespace millrace::store
