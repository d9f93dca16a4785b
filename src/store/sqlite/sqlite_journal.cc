#include "store/sqlite/sqlite_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/mutant.h"
#include "store/sqlite/repair.h"
#include "store/sqlite/schema.h"

namespace millrace::store {
namespace {

constexpr const char* kSelectRow = "SELECT epoch, checksum FROM journal WHERE seq = ?1";
constexpr const char* kSelectNewest = "SELECT max(seq) FROM journal";
constexpr const char* kInsert =
    "INSERT INTO journal(seq, epoch, predecessor, checksum, body) VALUES (?1, ?2, ?3, ?4, ?5)";
constexpr const char* kSelectOld =
    "SELECT seq, length(body) FROM journal WHERE seq < ?1 ORDER BY seq";
constexpr const char* kDelete = "DELETE FROM journal WHERE seq <= ?1";

constexpr std::size_t kReaders = 2;
// When the write-ahead log has this many new frames, 2 MiB, they are moved into the file: by
// tidy(), or else before the next append. A larger number makes appends no faster on average, but a
// few much slower (measured: 8 ms at the worst with 256 frames, 43 ms with 2,048).
constexpr int kCheckpointFrames = 256;
// Deletion takes time in proportion to bytes, since it visits every page of a body.
constexpr std::uint64_t kTrimRows = 256;
constexpr std::uint64_t kTrimBytes = 8 * 1024 * 1024;

AppendResult fenced(std::string message) { return {AppendOutcome::kFenced, std::move(message)}; }

}  // namespace

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(
    std::shared_ptr<const Directory> directory, std::unique_ptr<Database> writer, Logger log) {
  std::vector<std::unique_ptr<JournalRows>> readers;
  while (readers.size() < kReaders) {
    auto reader = open_part_for_reading(writer->path(), Part::kJournal);
    if (!reader) return std::unexpected(reader.error());
    readers.push_back(std::make_unique<JournalRows>(std::move(*reader)));
  }
  const auto extent = readers.front()->extent();
  if (!extent) return std::unexpected(extent.error());
  return std::unique_ptr<SqliteJournal>(new SqliteJournal(
      std::move(directory), std::move(writer), std::move(readers), *extent, std::move(log)));
}

SqliteJournal::SqliteJournal(std::shared_ptr<const Directory> directory,
                             std::unique_ptr<Database> writer,
                             std::vector<std::unique_ptr<JournalRows>> readers,
                             const Extent& extent, Logger log)
    : directory_(std::move(directory)),
      log_(std::move(log)),
      writer_(std::move(writer)),
      select_row_(*writer_, kSelectRow),
      select_newest_(*writer_, kSelectNewest),
      insert_(*writer_, kInsert),
      select_old_(*writer_, kSelectOld),
      delete_(*writer_, kDelete),
      extent_(extent),
      readers_(std::move(readers)) {}

SqliteJournal::~SqliteJournal() {
  // A suspect file is left as it is; otherwise closing moves the log into it.
  const MutexLock lock(mutex_);
  if (broken_) static_cast<void>(writer_->keep_wal_on_close());
}

std::optional<AppendResult> SqliteJournal::obstacle(const JournalRow& row) {
  const std::uint64_t seq = to_number(row.seq);
  if (select_row_.begin(seq).row()) {
    const bool same = static_cast<std::uint64_t>(select_row_.number(0)) == to_number(row.epoch) &&
                      select_row_.bytes(1) == to_blob(row.checksum);
    select_row_.reset();
    if (same) return AppendResult{AppendOutcome::kDurable, {}};
    return fenced(fmt::format("the journal already has another row {}", seq));
  }
  if (!select_row_.ok()) return failed(writer_->fault(), writer_->message());
  bool continues = false;
  if (seq == 1) {
    select_newest_.begin().row();
    continues = select_newest_.ok() && select_newest_.is_null(0);
    select_newest_.reset();
  } else {
    continues =
        select_row_.begin(seq - 1).row() && select_row_.bytes(1) == to_blob(row.predecessor);
    if (!select_row_.ok()) return failed(writer_->fault(), writer_->message());
    select_row_.reset();
  }
  if (!continues && !mutated(Mutant::kAppendIgnoresPredecessor)) {
    return fenced(fmt::format("row {} does not continue the newest row of the journal", seq));
  }
  return std::nullopt;
}

AppendResult SqliteJournal::insert(const JournalRow& row) {
  const std::string predecessor = to_blob(row.predecessor);
  const std::string checksum = to_blob(row.checksum);
  if (insert_.run(to_number(row.seq), to_number(row.epoch), Blob{predecessor}, Blob{checksum},
                  Blob{row.body})) {
    return {AppendOutcome::kDurable, {}};
  }
  return failed(writer_->fault(), writer_->message());
}

AppendResult SqliteJournal::append(const JournalRow& row) {
  const MutexLock lock(mutex_);
  if (broken_) return {AppendOutcome::kBroken, *broken_};
  if (const Status moved = checkpoint_if_due(); !moved) {
    return failed(writer_->fault(), moved.error().message);
  }
  Transaction transaction(*writer_, Transaction::Kind::kWrite);
  if (!transaction.ok()) return failed(writer_->fault(), writer_->message());
  if (auto found = obstacle(row)) return std::move(*found);
  if (AppendResult inserted = insert(row); inserted.outcome != AppendOutcome::kDurable) {
    return inserted;
  }
  if (const Status committed = transaction.commit(); !committed) {
    if (mutated(Mutant::kRetrySync) && writer_->sync_failed() && writer_->sync_wal()) {
      return {AppendOutcome::kDurable, {}};
    }
    return failed(writer_->fault(), committed.error().message);
  }
  extent_.newest = row.seq;
  if (extent_.oldest == Seq{}) extent_.oldest = row.seq;
  extent_.bytes += row.body.size();
  return {AppendOutcome::kDurable, {}};
}

Status SqliteJournal::append_archived(std::span<const JournalRow> rows) {
  const MutexLock lock(mutex_);
  if (const Status moved = checkpoint_if_due(); !moved) return moved;
  Transaction transaction(*writer_, Transaction::Kind::kWrite);
  if (!transaction.ok()) return writer_->failure("write");
  Extent extent = extent_;
  for (const JournalRow& row : rows) {
    if (const auto found = obstacle(row)) return millrace::failure(found->message);
    if (const AppendResult inserted = insert(row); inserted.outcome != AppendOutcome::kDurable) {
      return millrace::failure(inserted.message);
    }
    extent.newest = row.seq;
    if (extent.oldest == Seq{}) extent.oldest = row.seq;
    extent.bytes += row.body.size();
  }
  if (Status committed = transaction.commit(); !committed) return committed;
  extent_ = extent;
  return {};
}

void SqliteJournal::tidy() {
  const MutexLock lock(mutex_);
  if (broken_) return;
  if (const Status moved = checkpoint_if_due(); !moved) {
    static_cast<void>(failed(writer_->fault(), moved.error().message));
  }
}

AppendResult SqliteJournal::failed(Fault fault, std::string message) {
  switch (fault) {
    case Fault::kFull:
      return {AppendOutcome::kFailed, std::move(message)};
    case Fault::kIo:
      return {AppendOutcome::kUnknown, std::move(message)};
    case Fault::kSync:
      mark_suspect(writer_->path(), log_);
      break;
    case Fault::kDamaged:
    case Fault::kOther:
      break;
  }
  broken_ = message;
  return {AppendOutcome::kBroken, std::move(message)};
}

Status SqliteJournal::checkpoint_if_due() {
  if (writer_->wal_frames_since_checkpoint() < kCheckpointFrames) return {};
  return writer_->checkpoint(Database::Checkpoint::kPassive);
}

Status SqliteJournal::read(Seq from, const std::function<bool(const JournalRow&)>& visit) {
  return readers_.borrow()->read(from, visit);
}

Result<Journal::Extent> SqliteJournal::extent() {
  const MutexLock lock(mutex_);
  return extent_;
}

Result<std::uint64_t> SqliteJournal::trim(Seq below) {
  const MutexLock lock(mutex_);
  if (broken_) return millrace::failure(*broken_);
  below = std::min(below, extent_.newest);
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  Seq last{};
  select_old_.begin(to_number(below));
  while (rows < kTrimRows && bytes < kTrimBytes && select_old_.row()) {
    last = Seq{static_cast<std::uint64_t>(select_old_.number(0))};
    bytes += static_cast<std::uint64_t>(select_old_.number(1));
    ++rows;
  }
  const bool listed = select_old_.ok();
  select_old_.reset();
  if (!listed) return writer_->failure("read");
  if (rows == 0) return 0;
  if (!delete_.run(to_number(last))) {
    const AppendResult result = failed(writer_->fault(), writer_->message());
    return millrace::failure(fmt::format("can't trim the journal: {}", result.message));
  }
  extent_.oldest = next(last);
  extent_.bytes -= std::min(extent_.bytes, bytes);
  return rows;
}

}  // namespace millrace::store
