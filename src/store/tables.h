// The tables: the projection of the journal, read by look-ups, lists, searches and restart. They
// are always the exact state at some seq.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/changes.h"
#include "core/jobs/job.h"
#include "core/jobs/job_filter.h"
#include "core/queues/queue.h"
#include "core/workflows/workflow.h"
#include "store/backup.h"
#include "store/fences.h"
#include "store/journal.h"
#include "store/queries.h"

namespace millrace::store {

// The progress of the projection: the last journal row that it includes, and that row's checksum,
// to which the next row must chain.
struct Progress {
  Seq seq{};
  Checksum checksum;
  core::ShardFacts facts;
};

// Where a flush continues. A leader's changes begin where its last flush ended, which is the
// tables' progress. The changes of a follower that takes over may begin earlier, and so repeat some
// of the former leader's. They list as deleted every job that came and went since `base`.
struct FlushBase {
  FlushBase(Seq row) : base(row), from(row) {}
  FlushBase(Seq base_row, Seq from_row) : base(base_row), from(from_row) {}

  Seq base{};  // the changes are everything after this row
  Seq from{};  // the tables' progress
  bool overlaps() const { return base < from; }
};

// Receives the tables' live state at restart. Calls come in the order of the members.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void progress(const Progress& progress) = 0;
  virtual void queue(const core::Queue& queue) = 0;
  virtual void job(const core::Job& job) = 0;  // not terminal, by ord
  virtual void key(const core::KeyRow& row) = 0;
  virtual void held_unique(const core::HeldUnique& unique) = 0;
  virtual void ended_lease(const core::EndedLease& lease) = 0;  // oldest first
  virtual void schedule(const core::Schedule& schedule) = 0;    // by name
  // Both come after the queues and before the jobs.
  virtual void limit(const core::Limit& limit) = 0;                 // by kind and name
  virtual void bucket(const core::BucketRow& row) = 0;              // by kind, name and key
  virtual void catalog_entry(const core::CatalogEntry& entry) = 0;  // by kind and name
  virtual void operation(const core::OperationPart& part) = 0;      // by id
  virtual void audited(const core::AuditRow& newest) = 0;           // if there is one
  // Those that may change (core::may_change), whole, by id.
  virtual void workflow(const core::WorkflowImage& image) = 0;
};

struct NamedBlob {
  std::string name;
  std::optional<std::string> content;  // none: no such blob; in a write: delete it
};

// One caller at a time for flush and sync (the projection thread). Any thread may call everything
// else. Each call reads one consistent snapshot, except that a list, a selection or a count may
// read each job at a different instant.
class Tables {
 public:
  virtual ~Tables() = default;

  // Begins a term of leadership without a registry (store/registry.h), whoever led before. After it
  // returns, former leaders can neither flush nor trim, and reads show the last state that they
  // left. Returns the term's epoch, which is above all former ones and at least `at_least`. No-op
  // for a store that only one process can have open.
  virtual Result<Epoch> take(Epoch at_least) { return at_least; }

  // Writes `changes` and moves the progress from `since.from` to `to`, a later row, in one
  // transaction. If the progress is not at `since.from`, it writes nothing and returns an error. On
  // return the changes are committed, but not necessarily synced. Overlapping flushes give the same
  // tables as flushes that do not overlap. (Exception: of two equal marks of a job in the same
  // millisecond, one before `base` and one after it, only one remains.) A store that only one
  // process can have open rejects overlapping flushes.
  virtual Status flush(const core::Changes& changes, FlushBase since, const Progress& to) = 0;
  // Syncs, and returns the seq that survives a power failure.
  virtual Result<Seq> sync() = 0;

  virtual Status load(StateVisitor& visitor) = 0;
  virtual Result<Progress> progress() = 0;

  // Whole jobs by id, payload and result included, in no order; jobs that do not exist are left
  // out.
  virtual Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) = 0;
  // At most kMaxPageBytes of log lines, but at least one line.
  virtual Result<JobHistory> history(const JobId& id, const HistoryParts& parts) = 0;
  virtual Result<JobPage> list(const JobQuery& query) = 0;
  // Up to `limit` ids of matching jobs, newest first from `after_ord`; for bulk operations.
  struct IdPage {
    std::vector<JobId> ids;
    std::vector<std::uint64_t> ords;  // of the ids
    std::optional<std::uint64_t> next_after_ord;
  };
  virtual Result<IdPage> select_ids(const core::JobFilter& filter,
                                    std::optional<std::uint64_t> after_ord, std::uint32_t limit,
                                    ReadBudget budget) = 0;
  // The number of matching jobs; counting stops at `limit`.
  virtual Result<std::uint64_t> count(const core::JobFilter& filter, std::uint64_t limit,
                                      ReadBudget budget) = 0;

  // Retention: ended jobs of a queue and state that finished at or before `until`, oldest first;
  // without jobs that their workflow keeps (core::Membership::kept).
  virtual Result<std::vector<JobId>> finished_until(const SharedBytes& queue, core::State state,
                                                    Time until, std::uint32_t limit) = 0;
  virtual Result<std::optional<Time>> oldest_finished(const SharedBytes& queue,
                                                      core::State state) = 0;

  // A workflow with its members from `first` on, at most `count`; none: the tables don't have it.
  virtual Result<std::optional<core::WorkflowImage>> workflow(const JobId& id, std::uint32_t first,
                                                              std::uint32_t count) = 0;
  virtual Result<WorkflowPage> list_workflows(const WorkflowQuery& query) = 0;
  // Retention: the workflows of a queue that ended at or before `until`, and whose callbacks have
  // ended, too. Only those that are kept like jobs of that state (core::retained_as), oldest first.
  virtual Result<std::vector<JobId>> finished_workflows_until(const SharedBytes& queue,
                                                              core::State retained_as, Time until,
                                                              std::uint32_t limit) = 0;
  virtual Result<std::optional<Time>> oldest_finished_workflow(const SharedBytes& queue,
                                                               core::State retained_as) = 0;

  // The runs of a schedule that the tables have, newest first; at most core::kRunsKept.
  virtual Result<std::vector<core::ScheduleRunRow>> schedule_runs(const SharedBytes& schedule) = 0;

  // Entries of the audit by number, beginning after `after`: oldest first from there on, or newest
  // first towards the beginning.
  virtual Result<std::vector<core::AuditRow>> audit(const AuditQuery& query) = 0;

  // Named blobs beside the state (the read models); they may lag behind it. put_blobs() writes all
  // of them or none, in its own transaction, and only if `guard` holds. False: it does not; nothing
  // was written.
  virtual Result<bool> put_blobs(const std::vector<NamedBlob>& blobs, const NamedBlob& guard) = 0;
  // The blobs whose names are in [first, end), by name. No name has a space.
  virtual Result<std::vector<NamedBlob>> get_blobs(const std::string& first,
                                                   const std::string& end) = 0;
  // Write a blob unconditionally; read one.
  Status put_blob(const std::string& name, const std::string& content) {
    const Result<bool> put = put_blobs({{name, content}}, {});
    return put ? Status() : std::unexpected(put.error());
  }
  Result<std::optional<std::string>> get_blob(const std::string& name) {
    auto found = get_blobs(name, name + ' ');
    if (!found) return std::unexpected(std::move(found.error()));
    return found->empty() ? std::nullopt : std::move(found->front().content);
  }

  // Null: users' own transactions cannot finish jobs in this store.
  virtual Fences* fences() { return nullptr; }
};

// A store: a journal and its tables, opened together. The destructor closes it; all threads that
// use it must have stopped.
struct Store {
  std::string id;  // the same in all files of the store
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Tables> tables;
  std::unique_ptr<Backup> backup;  // null if the store can't be copied
};

}  // namespace millrace::store
