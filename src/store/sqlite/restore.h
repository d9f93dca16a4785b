// Makes a data directory anew: of a backup, and of the rows that an archive has beyond it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "store/sqlite/directory.h"
#include "store/tables.h"

namespace millrace::store {

// A directory that becomes a store, whole or not at all. The work is done in a folder within it;
// whoever looks before finish() finds no store there.
class RestoredDirectory {
 public:
  // `path` must be missing or empty.
  static Result<std::unique_ptr<RestoredDirectory>> begin(const std::string& path);
  ~RestoredDirectory();  // removes what is not finished
  RestoredDirectory(const RestoredDirectory&) = delete;
  RestoredDirectory& operator=(const RestoredDirectory&) = delete;

  // Where to make the store.
  const std::string& work() const { return work_; }
  // The store in work(), which nothing has open, goes into its place.
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
