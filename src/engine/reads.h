// What may be read of the tables from outside the shards: lists, searches, one job with its
// history. For those who must not know the store itself. All shards' tables are read as one.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/job_filter.h"
#include "core/reply.h"
#include "engine/cursors.h"
#include "engine/split.h"
#include "store/tables.h"

namespace millrace::engine {

using core::Comparison;
using core::Condition;
using core::JobField;
using core::JobFilter;
using store::Columns;
using store::JobHistory;

// Newest first by `created_at`, then by shard, within a shard in reverse order of submission.
struct JobQuery {
  JobFilter filter;
  JobCursor after;  // empty: from the newest
  std::uint32_t limit = 50;
  Columns columns;
  std::chrono::milliseconds budget{2'000};
};
struct JobPage {
  std::vector<core::Job> jobs;
  // Where to go on, absent at the end. Present with fewer jobs than the limit when the time budget
  // or the share of store::kMaxPageBytes ran out: of one shard, which then ends the page, so that
  // nothing of any is left out.
  std::optional<JobCursor> next;
};
struct IdPage {
  std::vector<JobId> ids;
  std::optional<JobCursor> next;  // as of a JobPage
};

enum class History : std::uint8_t { kNone, kWithoutLogs, kWhole };

// Oldest first.
struct LogPage {
  std::vector<core::LogLine> lines;
  bool more = false;
};

// A job's shard follows from its id, unless a client made that in its own way: then it may lie on
// any.
enum class Lookup : std::uint8_t { kItsShard, kOtherShards };

// Thread-safe; every call blocks for the read, so not for an I/O thread. Times out by itself
// (`budget`).
class Reads {
 public:
  // By shard; they outlive it.
  explicit Reads(std::vector<store::Tables*> tables) : tables_(std::move(tables)) {}
  explicit Reads(store::Tables& tables) : Reads(std::vector{&tables}) {}

  ShardNumber shards() const { return static_cast<ShardNumber>(tables_.size()); }

  Result<JobPage> list(const JobQuery& query) const;
  // For bulk operations: shard after shard, newest first within each.
  Result<IdPage> select_ids(const JobFilter& filter, const JobCursor& after, std::uint32_t limit,
                            std::chrono::milliseconds budget) const;
  // How many match, counting no further than `limit`.
  Result<std::uint64_t> count(const JobFilter& filter, std::uint64_t limit,
                              std::chrono::milliseconds budget) const;
  // Whole jobs by id, as the tables have them; no order.
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) const;

  // One job as it is now: what memory answered (it wins), completed from the tables. Memory is
  // asked first, the tables after: a job may leave memory in between, never the other way round. So
  // `memory` is what those shards answered that are looked at: the job's own to core::GetJob or
  // WatchJob, or all of them to FindJob. None: there is no such job there.
  Result<std::optional<core::JobView>> job(const JobId& id, const core::JobReply& memory,
                                           History history,
                                           Lookup lookup = Lookup::kItsShard) const;
  // The same for a view that came with another reply.
  Result<core::JobView> completed(const core::JobView& memory, History history) const;
  // Log lines with a higher `seq` than `after`, at most `limit` of them, and kMaxPageBytes or one.
  // `memory`: as it knows the job, if it does; asked first.
  Result<LogPage> logs(const core::JobView& memory, std::uint32_t after, std::uint32_t limit) const;
  // Puts the payloads in that memory has let go of. A job that is gone since (its lease with it) is
  // left out.
  Status complete(core::ClaimReply& claimed) const;

 private:
  using Jobs = std::vector<core::Job>;

  JobCursor begun(const JobCursor& after) const;
  store::Tables& tables_of(const core::Job& job) const;
  Status fetch_into(ShardNumber shard, const std::vector<JobId>& ids, Jobs& found) const;
  // Of the ids that are not its own.
  Status fetch_foreign(std::vector<JobId> ids, Jobs& found) const;

  const std::vector<store::Tables*> tables_;
};

// Rows of both, each once, in order; where both have one they are equal.
void merge_history(core::JobView& view, JobHistory older);

}  // namespace millrace::engine
