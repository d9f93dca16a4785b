// Makes a new data directory from a backup, and from the later rows of an archive.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "store/sqlite/directory.h"
#include "store/tables.h"

namespace millrace::store {

// A directory that becomes a complete store, or none at all. The store is built in a folder inside
// it; before finish() the directory holds no store.
class RestoredDirectory {
 public:
  // `path` must be missing or empty.
  static Result<std::unique_ptr<RestoredDirectory>> begin(const std::string& path);
  ~RestoredDirectory();  // removes an unfinished store
  RestoredDirectory(const RestoredDirectory&) = delete;
  RestoredDirectory& operator=(const RestoredDirectory&) = delete;

  // Where to make the store.
  const std::string& work() const { return work_; }
  // Moves the store from work() to its place. Nothing may have it open.
  Status finish();

 private:
  RestoredDirectory(std::string path, bool existed)
      : path_(std::move(path)), work_(path_ + "/" + std::string(kRestoring)), existed_(existed) {}

  const std::string path_;
  const std::string work_;
  const bool existed_;
  bool finished_ = false;
};

// Copies a backup, or the directory of a stopped server, to `to`, which is missing or empty, and
// checks the copy.
Status copy_store_of_nobody(const std::string& from, const std::string& to);

// Appends rows of an archive to the journal of a store that open_sqlite_store() has opened, in one
// commit.
Status append_archived(Store& store, std::span<const JournalRow> rows);

}  // namespace millrace::store
