#include "store/sqlite/restore.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/sqlite/directory.h"
#include "store/sqlite/sqlite_backup.h"
#include "store/sqlite/sqlite_journal.h"

namespace millrace::store {
namespace {

namespace fs = std::filesystem;

// In this order. Until all files are in place, a start refuses the directory.
constexpr std::string_view kInOrder[] = {kTablesFile, kJournalFile, kMarkerFile};

// Root may restore for the user of the service: give the files to the directory's owner.
Status give_to_owner_of(const std::string& directory, const std::string& file) {
  struct stat owner{};
  if (::geteuid() != 0 || ::stat(directory.c_str(), &owner) != 0) return {};
  if (::chown(file.c_str(), owner.st_uid, owner.st_gid) == 0) return {};
  return failure(
      fmt::format("can't give {} to the owner of {}: {}", file, directory, std::strerror(errno)));
}

}  // namespace

Result<std::unique_ptr<RestoredDirectory>> RestoredDirectory::begin(const std::string& path) {
  std::error_code fault;
  const bool existed = fs::exists(path, fault);
  if (existed && !fs::is_directory(path, fault)) {
    return failure(fmt::format("{} is not a directory; name a new or an empty one", path));
  }
  if (existed && fs::exists(path + "/" + std::string(kRestoring), fault)) {
    return failure(
        fmt::format("{}/{} is what an interrupted restore left; remove it, and restore again", path,
                    kRestoring));
  }
  if (existed && !fs::is_empty(path, fault)) {
    return failure(fmt::format(
        "{} is not empty, and a restore writes over nothing; name a new or an empty directory",
        path));
  }
  std::unique_ptr<RestoredDirectory> made(new RestoredDirectory(path, existed));
  fs::create_directories(path, fault);
  if (!fault && !existed) fs::permissions(path, fs::perms::owner_all, fault);
  if (!fault) fs::create_directory(made->work_, fault);
  if (!fault) fs::permissions(made->work_, fs::perms::owner_all, fault);
  if (fault) return failure(fmt::format("can't create {}: {}", made->work_, fault.message()));
  return made;
}

RestoredDirectory::~RestoredDirectory() {
  if (finished_) return;
  std::error_code fault;
  fs::remove_all(work_, fault);
  if (!existed_) fs::remove(path_, fault);
}

Status RestoredDirectory::finish() {
  for (const std::string_view name : kInOrder) {
    const std::string made = work_ + "/" + std::string(name);
    if (file_has_content(made + "-wal")) {
      return failure(fmt::format("{} has not all that was written to it", made));
    }
    if (Status given = give_to_owner_of(path_, made); !given) return given;
    if (Status synced = sync_file(made); !synced) return synced;
  }
  for (const std::string_view name : kInOrder) {
    const std::string file = "/" + std::string(name);
    if (Status placed = rename_file(work_ + file, path_ + file); !placed) return placed;
  }
  finished_ = true;
  std::error_code fault;
  fs::remove_all(work_, fault);
  if (Status synced = sync_file(path_); !synced) return synced;
  return sync_directory_of(path_);
}

Status copy_store_of_nobody(const std::string& from, const std::string& to) {
  return SqliteBackup(from).backup_to(to);
}

Status append_archived(Store& store, std::span<const JournalRow> rows) {
  return static_cast<SqliteJournal&>(*store.journal).append_archived(rows);
}

}  // namespace millrace::store
