// The store's directory: its files' names, the lock that makes it one process's alone, and small
// files that are written whole or not at all.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::store {

inline constexpr std::string_view kJournalFile = "journal.db";
inline constexpr std::string_view kTablesFile = "jobs.db";
inline constexpr std::string_view kLockFile = "millrace.lock";
// Says that a store was made here, and which: what is missing beside it was lost, not never made.
inline constexpr std::string_view kMarkerFile = "millrace.store";
// Beside a database whose sync failed: it must be copied before it is trusted again.
inline constexpr std::string_view kSuspectSuffix = ".suspect";

// An open file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  bool ok() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  const int number_;
};

class Directory {
 public:
  // Made where it is missing (0700; its files are 0600), checked for writing, and locked until the
  // object goes. The error names the directory and, where it is locked, the process that holds it.
  static Result<std::unique_ptr<Directory>> lock(const std::string& path);

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  // For a warning: what the file system is, where it does not keep what is written or locks it
  // badly.
  std::optional<std::string> doubtful_file_system() const;

 private:
  Directory(std::string path, std::unique_ptr<Descriptor> lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const std::unique_ptr<Descriptor> lock_;
};

// Who has the directory locked at this moment, as "process 4711"; none: nobody. Changes nothing.
std::optional<std::string> user_of_directory(const std::string& path);

bool file_exists(const std::string& path);
// There, and holding something.
bool file_has_content(const std::string& path);
// Empty and for its owner alone; one that is there stays as it is.
Status make_private_file(const std::string& path);
// None: there is no such file.
Result<std::optional<std::string>> read_small_file(const std::string& path);
// Whole and synced, or as it was before.
Status write_small_file(const std::string& path, std::string_view content);
Status sync_file(const std::string& path);
Status sync_directory_of(const std::string& path);
// Atomic; synced on return.
Status rename_file(const std::string& from, const std::string& to);
// It is no error that there is none.
Status remove_file(const std::string& path);

}  // namespace millrace::store
