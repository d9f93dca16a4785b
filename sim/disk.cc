#include "sim/disk.h"

#include <utility>

#include "base/check.h"
#include "base/mutant.h"

namespace millrace::sim {

using store::AppendOutcome;
using store::AppendResult;

// A process reads through it; its appends go through begin_append() and end_append().
class Disk::JournalView final : public store::Journal {
 public:
  explicit JournalView(Disk& disk) : disk_(disk) {}
  AppendResult append(const store::JournalRow& row) override { return disk_.journal_->append(row); }
  Status read(Seq from, const std::function<bool(const store::JournalRow&)>& visit) override {
    return disk_.journal_->read(from, visit);
  }
  Result<Extent> extent() override { return disk_.journal_->extent(); }
  Result<std::uint64_t> trim(Seq below) override { return disk_.journal_->trim(below); }

 private:
  Disk& disk_;
};

class Disk::TablesView final : public store::Tables {
 public:
  explicit TablesView(Disk& disk) : disk_(disk) {}

  Status flush(const core::Changes& changes, store::Since since,
               const store::Progress& to) override {
    return tables().flush(changes, since, to);
  }
  Result<Seq> sync() override { return disk_.sync_tables(); }
  Status load(store::StateVisitor& visitor) override { return tables().load(visitor); }
  Result<store::Progress> progress() override { return tables().progress(); }
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) override {
    if (auto fault = broken()) return std::unexpected(*fault);
    return tables().fetch(ids);
  }
  Result<store::JobHistory> history(const JobId& id) override { return tables().history(id); }
  Result<store::JobPage> list(const store::JobQuery& query) override {
    return tables().list(query);
  }
  Result<IdPage> select_ids(const core::JobFilter& filter, std::optional<std::uint64_t> after,
                            std::uint32_t limit, std::chrono::milliseconds budget) override {
    return tables().select_ids(filter, after, limit, budget);
  }
  Result<std::uint64_t> count(const core::JobFilter& filter, std::uint64_t limit,
                              std::chrono::milliseconds budget) override {
    return tables().count(filter, limit, budget);
  }
  Result<std::vector<JobId>> finished_until(const SharedBytes& queue, core::State state, Time until,
                                            std::uint32_t limit) override {
    if (auto fault = broken()) return std::unexpected(*fault);
    return tables().finished_until(queue, state, until, limit);
  }
  Result<std::optional<Time>> oldest_finished(const SharedBytes& queue,
                                              core::State state) override {
    if (auto fault = broken()) return std::unexpected(*fault);
    return tables().oldest_finished(queue, state);
  }
  Status put_blob(const std::string& name, const std::string& content) override {
    return tables().put_blob(name, content);
  }
  Result<std::optional<std::string>> get_blob(const std::string& name) override {
    return tables().get_blob(name);
  }

 private:
  store::MemoryTables& tables() { return *disk_.tables_; }
  std::optional<Error> broken() {
    if (!disk_.reads_fail) return std::nullopt;
    ++disk_.failed_reads;
    return Error{"disk I/O error"};
  }

  Disk& disk_;
};

Disk::Disk()
    : journal_(std::make_unique<store::MemoryJournal>()),
      tables_(std::make_unique<store::MemoryTables>()),
      platter_(std::make_unique<store::MemoryTables>()) {}

store::Store Disk::open() {
  return {"simulated", std::make_unique<JournalView>(*this), std::make_unique<TablesView>(*this),
          nullptr};
}

// --- Appends.

void Disk::begin_append(const store::JournalRow& row) {
  MILLRACE_CHECK(!append_);
  const auto before = journal_->row(Seq{to_number(row.seq) - 1});
  const bool continues = before && before->checksum == row.predecessor;
  append_ = {row, continues && !journal_->row(row.seq)};
}

AppendResult Disk::land(const Append& append) {
  if (mutated(Mutant::kFenceCheckedEarly) && append.fence_held) {
    journal_->overwrite(append.row);
    return {AppendOutcome::kDurable, {}};
  }
  return journal_->append(append.row);
}

AppendResult Disk::end_append(AppendFate fate) {
  const Append append = *std::exchange(append_, std::nullopt);
  switch (fate) {
    case AppendFate::kDurable:
      return land(append);
    case AppendFate::kFails:
      return {AppendOutcome::kFailed, "disk full"};
    case AppendFate::kUnknownApplied: {
      const AppendResult result = land(append);
      if (result.outcome == AppendOutcome::kFenced) return result;
      return {AppendOutcome::kUnknown, "connection lost"};
    }
    case AppendFate::kUnknownLate:
      late_.push_back(append);
      [[fallthrough]];
    case AppendFate::kUnknownLost:
      return {AppendOutcome::kUnknown, "connection lost"};
    case AppendFate::kBrokenApplied:
      land(append);
      [[fallthrough]];
    case AppendFate::kBrokenLost:
      break;
  }
  return {AppendOutcome::kBroken, "sync failed"};
}

void Disk::abandon_append(AppendFate fate) {
  if (append_) end_append(fate);
}

bool Disk::land_late(std::size_t which) {
  const Append append = late_.at(which);
  late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(which));
  const auto stood = journal_->row(append.row.seq);
  land(append);
  const auto stands = journal_->row(append.row.seq);
  return stands && (!stood || stands->checksum != stood->checksum);
}

// --- Flushes.

Status Disk::apply(const engine::Flush& flush) {
  Status status = tables_->flush(*flush.changes, flush.from, flush.to);
  if (status) since_sync_.push_back(flush);
  return status;
}

Status Disk::end_flush(bool works) {
  const engine::Flush flush = *std::exchange(flush_, std::nullopt);
  return works ? apply(flush) : failure("disk full");
}

void Disk::abandon_flush(FlushFate fate) {
  if (!flush_) return;
  const engine::Flush flush = *std::exchange(flush_, std::nullopt);
  if (fate == FlushFate::kApplied) (void)apply(flush);
  if (fate == FlushFate::kLate) late_flush_ = flush;
}

bool Disk::late_flush_waits() const {
  return late_flush_ && tables_->progress()->seq > late_flush_->from;
}

Status Disk::land_late_flush() {
  const engine::Flush flush = *std::exchange(late_flush_, std::nullopt);
  return apply(flush);
}

// --- Power.

Seq Disk::sync_tables() {
  for (const engine::Flush& flush : since_sync_) {
    (void)platter_->flush(*flush.changes, flush.from, flush.to);
  }
  since_sync_.clear();
  synced_ = tables_->progress()->seq;
  return synced_;
}

std::size_t Disk::cut_power(std::size_t kept) {
  const std::size_t lost = since_sync_.size() - kept;
  since_sync_.resize(kept);
  for (const engine::Flush& flush : since_sync_) {
    (void)platter_->flush(*flush.changes, flush.from, flush.to);
  }
  since_sync_.clear();
  synced_ = platter_->progress()->seq;
  tables_ = platter_->copy();
  // What was under way to the machine is gone with it.
  late_.clear();
  late_flush_.reset();
  return lost;
}

bool Disk::gapless() {
  const store::Journal::Extent all = extent();
  for (Seq seq = all.oldest; seq < all.newest; seq = next(seq)) {
    const auto row = journal_->row(seq);
    const auto after = journal_->row(next(seq));
    if (!row || !after || after->predecessor != row->checksum) return false;
  }
  return true;
}

void Disk::flip(Seq seq, std::size_t bit) {
  store::JournalRow row = journal_->row(seq).value();
  char& byte = row.body.at(bit / 8 % row.body.size());
  byte = static_cast<char>(byte ^ (1 << (bit % 8)));
  journal_->overwrite(row);
}

std::uint64_t Disk::trim(Seq below) {
  const Result<std::uint64_t> trimmed = journal_->trim(below);
  return *trimmed;
}

store::Journal::Extent Disk::extent() {
  const Result<store::Journal::Extent> extent = journal_->extent();
  return *extent;
}

}  // namespace millrace::sim
