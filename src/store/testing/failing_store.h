// A store whose calls fail while a test tells them to.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/tables.h"

namespace millrace::store {

class FailingJournal final : public Journal {
 public:
  explicit FailingJournal(std::unique_ptr<Journal> real) : real_(std::move(real)) {}

  bool extent_fails = false;
  bool read_fails = false;
  Seq skipped{};              // this row is left out of reads
  std::uint64_t claimed = 0;  // it reports this many rows more than there are
  std::function<void()> before_read;

  AppendResult append(const JournalRow& row) override { return real_->append(row); }
  void tidy() override { real_->tidy(); }
  Status read(Seq from, const std::function<bool(const JournalRow&)>& visit) override {
    if (before_read) before_read();
    if (read_fails) return failure("the disk does not read");
    return real_->read(from,
                       [&](const JournalRow& row) { return row.seq == skipped || visit(row); });
  }
  Result<Extent> extent() override {
    if (extent_fails) return failure("the disk does not tell");
    auto extent = real_->extent();
    if (extent) extent->newest = Seq{to_number(extent->newest) + claimed};
    return extent;
  }
  Result<std::uint64_t> trim(Seq below) override { return real_->trim(below); }

 private:
  const std::unique_ptr<Journal> real_;
};

class FailingTables final : public Tables {
 public:
  explicit FailingTables(std::unique_ptr<Tables> real) : real_(std::move(real)) {}

  std::atomic<bool> flushes_fail = false;
  bool reads_fail = false;  // all reads but history
  bool history_fails = false;
  bool counts_fail = false;
  int fetches = 0;
  std::function<void()> before_fetch = {};  // called on the reader's thread
  std::function<void(const ReadBudget&)> before_list = {};
  Fences* with_fences = nullptr;  // what fences() returns
  // A list or a selection runs out of time after this many jobs.
  std::uint32_t most_listed = std::numeric_limits<std::uint32_t>::max();

  Result<Epoch> take(Epoch at_least) override { return real_->take(at_least); }
  Status flush(const core::Changes& changes, FlushBase since, const Progress& to) override {
    return flushes_fail ? Status(broken()) : real_->flush(changes, since, to);
  }
  Result<Seq> sync() override { return real_->sync(); }
  Status load(StateVisitor& visitor) override {
    return reads_fail ? Status(broken()) : real_->load(visitor);
  }
  Result<Progress> progress() override { return real_->progress(); }
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) override {
    ++fetches;
    if (before_fetch) before_fetch();
    if (reads_fail) return broken();
    return real_->fetch(ids);
  }
  Result<JobHistory> history(const JobId& id, const HistoryParts& parts) override {
    if (history_fails) return broken();
    return real_->history(id, parts);
  }
  Result<JobPage> list(const JobQuery& query) override {
    if (before_list) before_list(query.budget);
    if (reads_fail) return broken();
    JobQuery shorter = query;
    shorter.limit = std::min(query.limit, most_listed);
    return real_->list(shorter);
  }
  Result<IdPage> select_ids(const core::JobFilter& filter, std::optional<std::uint64_t> after_ord,
                            std::uint32_t limit, ReadBudget budget) override {
    if (reads_fail) return broken();
    return real_->select_ids(filter, after_ord, std::min(limit, most_listed), budget);
  }
  Result<std::uint64_t> count(const core::JobFilter& filter, std::uint64_t limit,
                              ReadBudget budget) override {
    if (reads_fail || counts_fail) return broken();
    return real_->count(filter, limit, budget);
  }
  Result<std::vector<JobId>> finished_until(const SharedBytes& queue, core::State state, Time until,
                                            std::uint32_t limit) override {
    if (reads_fail) return broken();
    return real_->finished_until(queue, state, until, limit);
  }
  Result<std::optional<Time>> oldest_finished(const SharedBytes& queue,
                                              core::State state) override {
    if (reads_fail) return broken();
    return real_->oldest_finished(queue, state);
  }
  Result<std::optional<core::WorkflowImage>> workflow(const JobId& id, std::uint32_t first,
                                                      std::uint32_t count) override {
    if (reads_fail) return broken();
    return real_->workflow(id, first, count);
  }
  Result<WorkflowPage> list_workflows(const WorkflowQuery& query) override {
    if (reads_fail) return broken();
    return real_->list_workflows(query);
  }
  Result<std::vector<JobId>> finished_workflows_until(const SharedBytes& queue,
                                                      core::State retained_as, Time until,
                                                      std::uint32_t limit) override {
    if (reads_fail) return broken();
    return real_->finished_workflows_until(queue, retained_as, until, limit);
  }
  Result<std::optional<Time>> oldest_finished_workflow(const SharedBytes& queue,
                                                       core::State retained_as) override {
    if (reads_fail) return broken();
    return real_->oldest_finished_workflow(queue, retained_as);
  }
  Result<std::vector<core::ScheduleRunRow>> schedule_runs(const SharedBytes& schedule) override {
    return real_->schedule_runs(schedule);
  }
  Result<std::vector<core::AuditRow>> audit(const AuditQuery& query) override {
    return real_->audit(query);
  }
  Result<bool> put_blobs(const std::vector<NamedBlob>& blobs, const NamedBlob& guard) override {
    return real_->put_blobs(blobs, guard);
  }
  Result<std::vector<NamedBlob>> get_blobs(const std::string& first,
                                           const std::string& end) override {
    return real_->get_blobs(first, end);
  }
  Fences* fences() override { return with_fences; }

 private:
  static std::unexpected<Error> broken() { return failure("the tables do not answer"); }

  const std::unique_ptr<Tables> real_;
};

}  // namespace millrace::store
