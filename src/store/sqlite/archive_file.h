// A file of an archive: consecutive rows of a journal, written once, whole and synced, and never
// changed. docs/reference/journal-format.md describes its bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"
#include "base/time.h"
#include "store/journal.h"

namespace millrace::store {

// The file's head: its store, its rows, and the checksums that connect it to other files.
struct ArchiveHead {
  std::string store_id;
  Seq first{};
  Seq last{};
  Checksum predecessor;  // of the first row
  Checksum checksum;     // of the last row
  Time first_at{};       // the shard's time of the first row, and of the last
  Time last_at{};
};

inline constexpr std::string_view kArchiveSuffix = ".rows";
// The unfinished file.
inline constexpr std::string_view kArchiveDraft = "unfinished.tmp";

// "00000000000000000001-00000000000000000099.rows": names sort as the rows do.
std::string archive_file_name(Seq first, Seq last);

// Collects rows in `DIRECTORY/unfinished.tmp`; finish() syncs it and gives it its name. An
// unfinished file is removed.
class ArchiveFileWriter {
 public:
  static Result<std::unique_ptr<ArchiveFileWriter>> create(const std::string& directory,
                                                           const std::string& store_id);
  ~ArchiveFileWriter();
  ArchiveFileWriter(const ArchiveFileWriter&) = delete;
  ArchiveFileWriter& operator=(const ArchiveFileWriter&) = delete;

  // The rows must come in order; the caller has verified them.
  Status add(const JournalRow& row);
  std::uint64_t bytes() const { return bytes_; }
  bool empty() const { return head_.first == Seq{}; }
  // Precondition: there is at least one row.
  Result<ArchiveHead> finish();

 private:
  ArchiveFileWriter(std::string directory, Descriptor file)
      : directory_(std::move(directory)), file_(std::move(file)) {}
  Status flush();
  Status write_head();

  const std::string directory_;
  const Descriptor file_;
  bool is_placed_ = false;
  ArchiveHead head_;
  std::string buffer_;
  std::string last_body_;
  std::uint64_t bytes_ = 0;
};

// Reads and checks the head alone.
Result<ArchiveHead> read_archive_head(const std::string& path);

// Reads the rows in order until `visit` returns false. Verifies every row's checksum, and that the
// rows are those of `head`.
Status read_archive_rows(const std::string& path, const ArchiveHead& head,
                         const std::function<bool(const JournalRow&)>& visit);

}  // namespace millrace::store
