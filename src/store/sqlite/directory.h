// The store's directory: the names of its files, the lock that reserves it for one process, and
// small files that are written completely or not at all.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

namespace millrace::store {

inline constexpr std::string_view kJournalFile = "journal.db";
inline constexpr std::string_view kTablesFile = "jobs.db";
inline constexpr std::string_view kLockFile = "millrace.lock";
// Marks that a store was created here, and its id. If another file is missing, it was therefore
// lost, not never created.
inline constexpr std::string_view kMarkerFile = "millrace.store";
// Its content: whatever differs from it is damage, so no checksum is needed.
std::string marker_of(std::string_view store_id);
// The folder in which a restore makes a store, until it is complete.
inline constexpr std::string_view kRestoring = "restoring";
// Marks a database whose sync failed: it must be copied before it is trusted again.
inline constexpr std::string_view kSuspectSuffix = ".suspect";

class Directory {
 public:
  // Creates the directory if it is missing (mode 0700; its files have 0600), checks that it is
  // writable, and locks it until the object is destroyed. The error names the directory and, if it
  // is locked, the process that holds the lock.
  static Result<std::unique_ptr<Directory>> lock(const std::string& path);

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  // A warning about a file system that does not keep written data, or does not lock reliably.
  std::optional<std::string> doubtful_file_system() const;

 private:
  Directory(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const Descriptor lock_;
};

// The process that currently has the directory locked, as "process 4711"; none: no process. Changes
// nothing.
std::optional<std::string> user_of_directory(const std::string& path);

bool file_exists(const std::string& path);
// Whether the file exists and is not empty.
bool file_has_content(const std::string& path);
// Creates an empty file that only its owner can access; leaves an existing file as it is.
Status make_private_file(const std::string& path);
// None: the file does not exist.
Result<std::optional<std::string>> read_small_file(const std::string& path);
// Atomic: the file has the new content, synced, or is as it was before.
Status write_small_file(const std::string& path, std::string_view content);
Status sync_file(const std::string& path);
Status sync_directory_of(const std::string& path);
// Atomic; synced on return.
Status rename_file(const std::string& from, const std::string& to);
// Succeeds if there is no such file.
Status remove_file(const std::string& path);

}  // namespace millrace::store
