// The tables: the projection of the journal that look-ups, lists, searches and restart read. Always
// the exact state at some seq.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "core/changes.h"
#include "core/job.h"
#include "core/job_filter.h"
#include "core/queue.h"
#include "store/backup.h"
#include "store/fences.h"
#include "store/journal.h"

namespace millrace::store {

// How far the projection has come: the journal row that it includes, and what the next must chain
// to.
struct Progress {
  Seq seq{};
  Checksum checksum;
  core::ShardFacts facts;
};

// What a flush goes on from. A leader's changes begin where its last flush ended, which is where
// the tables stand. Those of a follower that takes over may begin earlier: what the former leader
// wrote of them comes again. They name as deleted whatever came and went since `base`.
struct Since {
  Since(Seq row) : base(row), from(row) {}
  Since(Seq base_row, Seq from_row) : base(base_row), from(from_row) {}

  Seq base{};  // the changes are all that happened after this row, at or before `from`
  Seq from{};  // where the tables stand
  bool overlaps() const { return base < from; }
};

// Receives the tables' live state at restart; calls come in this order.
class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  virtual void progress(const Progress& progress) = 0;
  virtual void queue(const core::Queue& queue) = 0;
  virtual void job(const core::Job& job) = 0;  // not terminal, by ord
  virtual void key(const core::KeyRow& row) = 0;
  virtual void held_unique(const core::HeldUnique& unique) = 0;
  virtual void ended_lease(const core::EndedLease& lease) = 0;  // oldest first
};

// Which large members a read brings along.
struct Columns {
  bool payload = false;
  bool result = false;
};

// Payloads and results of one page of a list, together.
inline constexpr std::size_t kMaxPageBytes = std::size_t{16} << 20;

// Newest first; `after_ord` is the last seen, absent at the start.
struct JobQuery {
  core::JobFilter filter;
  std::optional<std::uint64_t> after_ord;
  std::uint32_t limit = 50;
  Columns columns;
  std::chrono::milliseconds budget{2'000};
  std::size_t bytes =
      kMaxPageBytes;  // of payloads and results; the first job comes whatever it has
};
struct JobPage {
  std::vector<core::Job> jobs;
  // Where to go on, absent at the end. Present with fewer jobs than the limit when the time budget
  // ran out, or where the next job would make it too many bytes.
  std::optional<std::uint64_t> next_after_ord;
};

struct JobHistory {
  std::vector<core::Attempt> attempts;  // earlier ones, oldest first; the latest stands in the job
  std::vector<core::LogLine> logs;
  std::vector<core::Mark> marks;
  bool more_logs = false;  // behind those, which the limit or kMaxPageBytes left out
};

// Which of a job's history is read.
struct HistoryParts {
  bool attempts_and_marks = true;
  std::uint32_t logs_after = 0;                                         // lines with a higher `seq`
  std::uint32_t most_logs = std::numeric_limits<std::uint32_t>::max();  // 0: none
};

// One caller at a time for flush and sync (the projection thread). Everything else may be called
// from any thread, each call reading one consistent snapshot; a list, a selection or a count may
// instead look at each job once, at one instant after the other.
class Tables {
 public:
  virtual ~Tables() = default;

  // Begins a term of leadership without a registry (store/registry.h), whoever led before: from its
  // return on they can neither flush nor trim, and what is read is the last that they left. Returns
  // the term's epoch, above all former ones and not below `at_least`. A store that only one process
  // can have open has nothing to do here.
  virtual Result<Epoch> take(Epoch at_least) { return at_least; }

  // Writes `changes` and moves the progress from `since.from` to `to`, a later row, in one
  // transaction, if it still stands there; else nothing is written and it is an error. Committed,
  // not necessarily synced, on return. Afterwards the tables are as after flushes that never
  // overlapped. (Of two equal marks of a job, in the same millisecond, one before and one after
  // `base`, one stays.) A store that only one process can have open takes no overlapping ones.
  virtual Status flush(const core::Changes& changes, Since since, const Progress& to) = 0;
  // Syncs: returns the seq that a power failure can't take back.
  virtual Result<Seq> sync() = 0;

  virtual Status load(StateVisitor& visitor) = 0;
  virtual Result<Progress> progress() = 0;

  // Whole jobs by id, payload and result included; those not there are left out. No order.
  virtual Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) = 0;
  // No more than kMaxPageBytes of log lines, but one whatever it has.
  virtual Result<JobHistory> history(const JobId& id, const HistoryParts& parts) = 0;
  virtual Result<JobPage> list(const JobQuery& query) = 0;
  // Up to `limit` ids that match, newest first from `after_ord`; for bulk operations.
  struct IdPage {
    std::vector<JobId> ids;
    std::optional<std::uint64_t> next_after_ord;
  };
  virtual Result<IdPage> select_ids(const core::JobFilter& filter,
                                    std::optional<std::uint64_t> after_ord, std::uint32_t limit,
                                    std::chrono::milliseconds budget) = 0;
  // How many match, counting no further than `limit`.
  virtual Result<std::uint64_t> count(const core::JobFilter& filter, std::uint64_t limit,
                                      std::chrono::milliseconds budget) = 0;

  // Retention: ended jobs of a queue and state that finished at or before `until`, oldest first.
  virtual Result<std::vector<JobId>> finished_until(const SharedBytes& queue, core::State state,
                                                    Time until, std::uint32_t limit) = 0;
  virtual Result<std::optional<Time>> oldest_finished(const SharedBytes& queue,
                                                      core::State state) = 0;

  // A named blob beside the state (the statistics' history). Last one wins; may lag.
  virtual Status put_blob(const std::string& name, const std::string& content) = 0;
  virtual Result<std::optional<std::string>> get_blob(const std::string& name) = 0;

  // Null: no transaction but the server's own can finish a job.
  virtual Fences* fences() { return nullptr; }
};

// A store: a journal and its tables, opened together. Closing is the destructor, after the threads
// using it stopped.
struct Store {
  std::string id;  // the same in all its files
  std::unique_ptr<Journal> journal;
  std::unique_ptr<Tables> tables;
  std::unique_ptr<Backup> backup;  // null where a store can't be copied
};

}  // namespace millrace::store
