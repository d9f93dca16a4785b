#include "store/sqlite/journal_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "store/journal_check.h"

namespace millrace::store {
namespace {

constexpr const char* kSelectFrom =
    "SELECT seq, epoch, predecessor, checksum, body FROM journal WHERE seq >= ?1 ORDER BY seq";
constexpr const char* kSelectChecksum = "SELECT checksum FROM journal WHERE seq = ?1";
constexpr const char* kSelectExtent =
    "SELECT ifnull(min(seq), 0), (SELECT ifnull(max(seq), 0) FROM journal) FROM journal";
constexpr const char* kSelectBytes = "SELECT ifnull(sum(length(body)), 0) FROM journal";

// A read lock is released after this many rows or bytes, so that the write-ahead log can restart
// however slow the visitor is.
constexpr std::size_t kRowsALock = 64;
constexpr std::size_t kBytesALock = 8 * 1024 * 1024;

// A statement that has not finished keeps its snapshot whatever its transaction does, and the next
// read on the connection would see that old snapshot. So each statement is reset after its read.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) : statement_(statement) {}
  ~ResetAtEnd() { statement_.reset(); }
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;

 private:
  Statement& statement_;
};

}  // namespace

Result<JournalRow> current_row(const Statement& select) {
  JournalRow row;
  row.seq = Seq{static_cast<std::uint64_t>(select.number(0))};
  row.epoch = Epoch{static_cast<std::uint64_t>(select.number(1))};
  const auto predecessor = checksum_from(select.bytes(2));
  const auto checksum = checksum_from(select.bytes(3));
  if (!predecessor || !checksum) {
    return failure(fmt::format("journal damaged: shard {}, row {}: the checksum is invalid",
                               kOnlyShard, to_number(row.seq)));
  }
  row.predecessor = *predecessor;
  row.checksum = *checksum;
  row.body = select.bytes(4);
  return row;
}

JournalRows::JournalRows(std::unique_ptr<Database> database)
    : database_(std::move(database)),
      select_from_(*database_, kSelectFrom),
      select_checksum_(*database_, kSelectChecksum),
      select_extent_(*database_, kSelectExtent),
      select_bytes_(*database_, kSelectBytes) {}

Result<Journal::Extent> JournalRows::extent() {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  const ResetAtEnd ends(select_extent_);
  const ResetAtEnd sizes(select_bytes_);
  Journal::Extent extent;
  if (!select_extent_.begin().row()) return database_->failure("read");
  extent.oldest = Seq{static_cast<std::uint64_t>(select_extent_.number(0))};
  extent.newest = Seq{static_cast<std::uint64_t>(select_extent_.number(1))};
  if (!select_bytes_.begin().row()) return database_->failure("read");
  extent.bytes = static_cast<std::uint64_t>(select_bytes_.number(0));
  return extent;
}

Status JournalRows::begin_chain(Seq from, ChainCheck& chain) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  const ResetAtEnd ends(select_extent_);
  const ResetAtEnd checksums(select_checksum_);
  if (!select_extent_.begin().row()) return database_->failure("read");
  Journal::Extent extent;
  extent.oldest = Seq{static_cast<std::uint64_t>(select_extent_.number(0))};
  extent.newest = Seq{static_cast<std::uint64_t>(select_extent_.number(1))};
  if (Status checked = check_range(kOnlyShard, from, extent); !checked) return checked;
  if (select_checksum_.begin(to_number(from) - 1).row()) {
    if (const auto before = checksum_from(select_checksum_.bytes(0))) {
      chain.set_predecessor(*before);
    }
  }
  return select_checksum_.ok() ? Status() : database_->failure("read");
}

Status JournalRows::read_some(Seq from, std::vector<JournalRow>& rows) {
  const Transaction snapshot(*database_, Transaction::Kind::kRead);
  const ResetAtEnd rows_read(select_from_);
  rows.clear();
  std::size_t bytes = 0;
  select_from_.begin(to_number(from));
  while (rows.size() < kRowsALock && bytes < kBytesALock && select_from_.row()) {
    auto row = current_row(select_from_);
    if (!row) return std::unexpected(row.error());
    bytes += row->body.size();
    rows.push_back(std::move(*row));
  }
  return select_from_.ok() ? Status() : database_->failure("read");
}

Status JournalRows::read(Seq from, const std::function<bool(const JournalRow&)>& visit) {
  from = std::max(from, Seq{1});
  ChainCheck chain(kOnlyShard, from);
  if (Status begun = begin_chain(from, chain); !begun) return begun;
  std::vector<JournalRow> rows;
  do {
    if (Status read = read_some(chain.expected(), rows); !read) return read;
    for (const JournalRow& row : rows) {
      if (Status checked = chain.check(row); !checked) return checked;
      if (!visit(row)) return {};
    }
  } while (!rows.empty());
  return {};
}

}  // namespace millrace::store
