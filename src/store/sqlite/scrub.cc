#include "store/sqlite/scrub.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "store/sqlite/checked_pages.h"

namespace millrace::store {
namespace {

using Pages = std::unordered_set<std::uint32_t>;

constexpr const char* kSelectPageCount = "PRAGMA page_count";
// SQLite locks bytes here, and never reads or writes the page that contains them.
constexpr std::int64_t kLockedBytes = 0x40000000;

// The write-ahead log's format: sqlite.org/fileformat2.html, section 4.
constexpr std::size_t kLogHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::uint32_t kLogMagic = 0x377f0682;  // + 1: checksums of big-endian words

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(at, 4)) {
    value = (value << 8) | static_cast<unsigned char>(byte);
  }
  return value;
}

// The checksum of all bytes added so far, header first; it shows where the log ends.
class LogChecksum {
 public:
  explicit LogChecksum(bool big_endian_words) : big_endian_words_(big_endian_words) {}
  void add(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      first_ += word(bytes, at) + second_;
      second_ += word(bytes, at + 4) + first_;
    }
  }
  bool is_at(std::string_view bytes, std::size_t at) const {
    return big_endian(bytes, at) == first_ && big_endian(bytes, at + 4) == second_;
  }

 private:
  std::uint32_t word(std::string_view bytes, std::size_t at) const {
    const std::uint32_t value = big_endian(bytes, at);
    return big_endian_words_ ? value : __builtin_bswap32(value);
  }

  const bool big_endian_words_;
  std::uint32_t first_ = 0;
  std::uint32_t second_ = 0;
};

sqlite3_file* file_of(Database& database, int which) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(database.handle(), "main", which, static_cast<void*>(&file));
  return file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

bool read_all(sqlite3_file* file, std::string& into, std::int64_t offset) {
  return file->pMethods->xRead(file, into.data(), static_cast<int>(into.size()), offset) ==
         SQLITE_OK;
}

// The pages of all complete transactions in the log.
Pages pages_in_log(Database& database, int page_size) {
  Pages committed;
  sqlite3_file* const log = file_of(database, SQLITE_FCNTL_JOURNAL_POINTER);
  std::string header(kLogHeader, '\0');
  if (log == nullptr || !read_all(log, header, 0)) return committed;
  const std::uint32_t magic = big_endian(header, 0);
  LogChecksum checksum(magic == kLogMagic + 1);
  checksum.add(std::string_view(header).substr(0, 24));
  if ((magic | 1) != (kLogMagic | 1) || !checksum.is_at(header, 24)) return committed;

  std::vector<std::uint32_t> pending;
  std::string frame(kFrameHeader + static_cast<std::size_t>(page_size), '\0');
  const std::string_view view(frame);
  for (std::int64_t at = kLogHeader; read_all(log, frame, at);
       at += static_cast<std::int64_t>(frame.size())) {
    checksum.add(view.substr(0, 8));
    checksum.add(view.substr(kFrameHeader));
    const bool of_this_log = view.substr(8, 8) == std::string_view(header).substr(16, 8);
    if (!of_this_log || !checksum.is_at(view, 16)) break;
    pending.push_back(big_endian(view, 0));
    if (big_endian(view, 4) == 0) continue;  // no commit
    committed.insert(pending.begin(), pending.end());
    pending.clear();
  }
  return committed;
}

// None: the database can't be opened.
std::optional<std::int64_t> page_count(Database& database) {
  Statement select(database, kSelectPageCount);
  if (!select.begin().row()) return std::nullopt;
  return select.number(0);
}

// The layer accepts a first page that states another page size, since SQLite then reads it again.
bool is_altered(int code, std::uint32_t number, std::string_view page) {
  return code == SQLITE_IOERR_DATA || (number == 1 && !page_fits(number, page));
}

bool tells_size(std::string_view first_page, int page_size) {
  return static_cast<int>(big_endian(first_page, 16) >> 16) == page_size;
}

}  // namespace

Result<std::vector<std::string>> scrub(Database& database, int page_size, std::size_t most) {
  std::vector<std::string> altered;
  // While this transaction is open, no page is written to the file that is not in the log.
  const Transaction snapshot(database, Transaction::Kind::kRead);
  const std::int64_t needed = page_count(database).value_or(1);
  sqlite3_file* const file = file_of(database, SQLITE_FCNTL_FILE_POINTER);
  sqlite3_int64 size = 0;
  if (file == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
    return failure(fmt::format("can't read {}", database.path()));
  }
  const std::int64_t pages = std::max<std::int64_t>(needed, (size + page_size - 1) / page_size);
  std::optional<Pages> in_log;
  std::string page(static_cast<std::size_t>(page_size), '\0');
  for (std::int64_t offset = 0; offset < pages * page_size; offset += page_size) {
    if (offset == kLockedBytes) continue;
    const int code = file->pMethods->xRead(file, page.data(), page_size, offset);
    const auto number = static_cast<std::uint32_t>(offset / page_size + 1);
    if (is_altered(code, number, page)) {
      if (!in_log) in_log = pages_in_log(database, page_size);
      if (in_log->contains(number)) continue;
      const bool unchecked =
          code == SQLITE_IOERR_DATA && last_altered_page(database.handle()).unchecked_file;
      altered.push_back(describe({number, unchecked}, database.path()));
      // In that case the other pages cannot be judged.
      const bool last = unchecked || (number == 1 && !tells_size(page, page_size));
      if (last || altered.size() == most) break;
    } else if (code != SQLITE_OK) {
      return failure(
          fmt::format("can't read {}, page {}: {}", database.path(), number, sqlite3_errstr(code)));
    }
  }
  return altered;
}

}  // namespace millrace::store
