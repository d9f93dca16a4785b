// Reads of the tables from outside the shards: lists, searches, one job with its history. For
// callers that must not know the store. It reads all shards' tables as one.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/jobs/job_filter.h"
#include "core/reply.h"
#include "engine/routing/scatter_gather.h"
#include "engine/shard/cursors.h"
#include "store/tables.h"

namespace millrace::engine {

using core::Comparison;
using core::Condition;
using core::JobField;
using core::JobFilter;
using store::Columns;
using store::JobHistory;
using store::ReadBudget;

// Newest first by `created_at`, then by shard; within a shard, in reverse order of submission.
struct JobQuery {
  JobFilter filter;
  JobCursor after;  // empty: from the newest
  std::uint32_t limit = 50;
  Columns columns;
  ReadBudget budget{std::chrono::milliseconds{2'000}};
  std::size_t bytes = store::kMaxPageBytes;  // of the page; each shard gets an equal part
};
struct JobPage {
  std::vector<core::Job> jobs;
  // Where the next page begins; absent at the end. May be present with fewer jobs than the limit: a
  // shard ran out of time or of its part of store::kMaxPageBytes. That shard then ends the page, so
  // that no job is skipped.
  std::optional<JobCursor> next;
};
struct IdPage {
  std::vector<JobId> ids;
  std::optional<JobCursor> next;  // as in JobPage
};

enum class History : std::uint8_t { kNone, kWithoutLogs, kWhole };

// Oldest first.
struct LogPage {
  std::vector<core::LogLine> lines;
  bool more = false;
};

// A job's id determines its shard, unless a client chose the id freely: then the job may be on any
// shard.
enum class Lookup : std::uint8_t { kItsShard, kOtherShards };

// Thread-safe. Every call blocks for the read, so it must not run on an I/O thread. Calls end by
// themselves (`budget`).
class Reads {
 public:
  // By shard. The tables must outlive this object.
  explicit Reads(std::vector<store::Tables*> tables) : tables_(std::move(tables)) {}
  explicit Reads(store::Tables& tables) : Reads(std::vector{&tables}) {}

  ShardNumber shards() const { return static_cast<ShardNumber>(tables_.size()); }

  Result<JobPage> list(const JobQuery& query) const;
  // For bulk operations: one shard after another, newest first within each.
  Result<IdPage> select_ids(const JobFilter& filter, const JobCursor& after, std::uint32_t limit,
                            ReadBudget budget) const;
  // The number of matching jobs; counting stops at `limit`.
  Result<std::uint64_t> count(const JobFilter& filter, std::uint64_t limit,
                              ReadBudget budget) const;
  // Whole jobs by id, from the tables; in no order.
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) const;

  // The current state of a job: memory's answer, which takes precedence, completed from the tables.
  // The caller must ask memory before this call, since a job may move from memory to the tables in
  // between, but never back. `memory` is the answer of the shards that are read: that of the job's
  // own shard to core::GetJob or WatchJob, or of all shards to FindJob. None: there is no such job
  // there.
  Result<std::optional<core::JobView>> job(const JobId& id, const core::JobReply& memory,
                                           History history,
                                           Lookup lookup = Lookup::kItsShard) const;
  // The same for a view from another reply.
  Result<core::JobView> completed(const core::JobView& memory, History history) const;
  // Log lines with a `seq` above `after`: at most `limit` lines and kMaxPageBytes, but at least
  // one. `memory`: memory's view of the job, if it has one; memory must be asked first.
  Result<LogPage> logs(const core::JobView& memory, std::uint32_t after, std::uint32_t limit) const;
  // A workflow with its members from `first` on, at most `count`; none: the tables don't have it.
  // The caller must have asked memory (core::GetWorkflow).
  Result<std::optional<core::WorkflowImage>> workflow(const JobId& id, std::uint32_t first,
                                                      std::uint32_t count) const;
  // Of all shards.
  Result<store::WorkflowPage> list_workflows(const store::WorkflowQuery& query) const;
  // The runs of a schedule in the tables, newest first.
  Result<std::vector<core::ScheduleRunRow>> schedule_runs(const SharedBytes& schedule) const;
  // Audit entries of a shard.
  Result<std::vector<core::AuditRow>> audit(ShardNumber shard,
                                            const store::AuditQuery& query) const;
  // Adds the payloads that memory has dropped. A job deleted meanwhile (and its lease with it) is
  // left out.
  Status complete(core::ClaimReply& claimed) const;

 private:
  using Jobs = std::vector<core::Job>;

  JobCursor begun(const JobCursor& after) const;
  store::Tables& tables_of(const core::Job& job) const;
  Status fetch_into(ShardNumber shard, const std::vector<JobId>& ids, Jobs& found) const;
  // Fetches ids that do not determine their shard.
  Status fetch_foreign(std::vector<JobId> ids, Jobs& found) const;

  const std::vector<store::Tables*> tables_;
};

// Merges the rows of both, each once, in order. Rows found in both are equal.
void merge_history(core::JobView& view, JobHistory older);

}  // namespace millrace::engine
