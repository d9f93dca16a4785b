// What may be read of the tables from outside the shard: lists, searches, one job with its history.
// For those who must not know the store itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/job_filter.h"
#include "core/reply.h"
#include "store/tables.h"

namespace millrace::engine {

using core::Comparison;
using core::Condition;
using core::JobField;
using core::JobFilter;
using store::Columns;
using store::JobHistory;
using store::JobPage;
using store::JobQuery;
using IdPage = store::Tables::IdPage;

enum class History : std::uint8_t { kNone, kWhole };

// Thread-safe; every call blocks for the read, so not for an I/O thread. Times out by itself
// (`budget`).
class Reads {
 public:
  explicit Reads(store::Tables& tables) : tables_(tables) {}  // which must outlive it

  Result<JobPage> list(const JobQuery& query) const;
  Result<IdPage> select_ids(const JobFilter& filter, std::optional<std::uint64_t> after_ord,
                            std::uint32_t limit, std::chrono::milliseconds budget) const;
  // How many match, counting no further than `limit`.
  Result<std::uint64_t> count(const JobFilter& filter, std::uint64_t limit,
                              std::chrono::milliseconds budget) const;
  // Whole jobs by id, as the tables have them; no order.
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) const;

  // One job as it is now: what the shard answered to core::GetJob or WatchJob (memory wins),
  // completed from the tables. Asked of the shard first, the tables after: a job may leave memory
  // in between, never the other way round. None: there is no such job.
  Result<std::optional<core::JobView>> job(const JobId& id, const core::JobReply& memory,
                                           History history) const;
  // The same for a view that came with another reply.
  Result<core::JobView> completed(const core::JobView& memory, History history) const;
  // Puts the payloads in that memory has let go of. A job that is gone since (its lease with it) is
  // left out.
  Status complete(core::ClaimReply& claimed) const;

 private:
  store::Tables& tables_;
};

// Rows of both, each once, in order; where both have one they are equal.
void merge_history(core::JobView& view, JobHistory older);

}  // namespace millrace::engine
