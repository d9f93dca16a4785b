// An archive: a directory that keeps the rows of a store's journal after the journal has dropped
// them. With a backup it gives the store's state at any time after the backup.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/journal.h"
#include "store/sqlite/archive_file.h"
#include "store/sqlite/directory.h"

namespace millrace::store {

// The file that records the archive's coverage, even while no rows arrive.
inline constexpr std::string_view kArchiveCoverage = "archive";

struct ArchiveCoverage {
  std::string store_id;
  Seq last{};
  Time until{};  // the archive has everything that the server had answered by then
};

// Fills an archive while a server runs. One thread. Keeps the directory locked.
class ArchiveWriter {
 public:
  // Creates the directory if it is missing. Refuses a directory with rows of another store, or of
  // another history of this store: after a restore, a new archive begins.
  static Result<std::unique_ptr<ArchiveWriter>> open(const std::string& directory,
                                                     const std::string& store_id, Journal& journal);

  // The newest row in the archive; if there is none, the row before the one that it needs next.
  Seq archived() const { return archived_; }
  // Rows that the journal dropped before they were archived; a restore can't go beyond them.
  std::optional<std::pair<Seq, Seq>> gap() const { return gap_; }
  // Archives rows up to `to`, or as many as fit into one file: all of these, or none.
  Status add_some(Seq to);
  Status cover(Time until);

 private:
  ArchiveWriter(std::unique_ptr<Directory> directory, std::string store_id, Journal& journal)
      : directory_(std::move(directory)), store_id_(std::move(store_id)), journal_(journal) {}
  Status find_place();

  const std::unique_ptr<Directory> directory_;
  const std::string store_id_;
  Journal& journal_;
  Seq archived_{};
  std::optional<std::pair<Seq, Seq>> gap_;
};

// Reads an archive, also while a server fills it.
class ArchiveReader {
 public:
  // Reads the heads of all files, and refuses files that do not belong together.
  static Result<ArchiveReader> open(const std::string& directory);

  bool empty() const { return files_.empty(); }
  Seq first() const { return files_.front().head.first; }
  Seq last() const { return files_.back().head.last; }
  const std::string& store_id() const { return files_.front().head.store_id; }
  // None: the coverage file does not exist.
  const std::optional<ArchiveCoverage>& coverage() const { return coverage_; }

  // Reads rows from `from` on, until `visit` returns false or the end. A row that is missing is an
  // error that names it.
  Status read(Seq from, const std::function<bool(const JournalRow&)>& visit) const;

 private:
  struct File {
    std::string path;
    ArchiveHead head;
  };
  std::string directory_;
  std::vector<File> files_;  // by rows
  std::optional<ArchiveCoverage> coverage_;
};

}  // namespace millrace::store
