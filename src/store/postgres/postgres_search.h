// Lists and searches over the tables. Indexes and plain columns narrow the candidates inside the
// database. The remaining conditions are checked here on each job (store/job_match.h), piece by
// piece, newest first, until there are enough jobs or the time is up.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/jobs/job_filter.h"
#include "store/postgres/job_columns.h"
#include "store/postgres/postgres_shard.h"
#include "store/tables.h"

namespace millrace::store {

// The state of one call.
class PostgresSearch {
 public:
  explicit PostgresSearch(const PostgresShard& shard) : shard_(shard) {}

  Result<JobPage> list(const JobQuery& query);
  Result<Tables::IdPage> select_ids(const core::JobFilter& filter,
                                    std::optional<std::uint64_t> after_ord, std::uint32_t limit,
                                    ReadBudget budget);
  Result<std::uint64_t> count(const core::JobFilter& filter, std::uint64_t limit,
                              ReadBudget budget);

 private:
  enum class Ended : std::uint8_t { kAll, kByVisitor, kByTime };
  // Ords from `least` to `most`, both included.
  struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  using Visit = std::function<bool(core::Job&)>;

  Result<Range> range_of(const core::JobFilter& filter, std::optional<std::uint64_t> after_ord);
  Result<std::int64_t> newest();  // the newest ord; 0: there are no jobs
  // The newest ord whose job was created before `time_ms`; 0: none.
  Result<std::int64_t> newest_before(std::int64_t time_ms);
  // Calls `visit` with each matching job, newest first, until it returns false. `last` is the ord
  // of the last job that was looked at.
  Result<Ended> run(const core::JobFilter& filter, std::optional<std::uint64_t> after_ord,
                    Columns columns, std::uint64_t wanted, ReadBudget budget, std::uint64_t& last,
                    const Visit& visit);
  // Reads the next jobs at or below `range.most`, at most `limit`; returns how many there were.
  Result<std::size_t> piece(const core::JobFilter& filter, Range range, Columns columns,
                            std::uint64_t limit, const Visit& visit);

  const PostgresShard& shard_;
  JobReader reader_;
};

}  // namespace millrace::store
