// Lists and searches over the tables. Indexes and plain columns narrow a filter down inside the
// database; what is left is decided here, on each job (store/job_match.h), piece by piece from the
// newest on, until there are enough or the time is up.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/job_filter.h"
#include "store/postgres/job_columns.h"
#include "store/postgres/postgres_shard.h"
#include "store/tables.h"

namespace millrace::store {

// Of one call.
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
  Result<std::int64_t> newest();  // ord of all; 0: there are none
  // The newest ord whose job was created before `time_ms`; 0: none.
  Result<std::int64_t> newest_before(std::int64_t time_ms);
  // Calls `visit` with each job that matches, newest first, until it returns false; `last` is the
  // ord of the last one looked at.
  Result<Ended> run(const core::JobFilter& filter, std::optional<std::uint64_t> after_ord,
                    Columns columns, std::uint64_t wanted, ReadBudget budget, std::uint64_t& last,
                    const Visit& visit);
  // The next jobs below `range.most`, at most `limit`; returns how many there were.
  Result<std::size_t> piece(const core::JobFilter& filter, Range range, Columns columns,
                            std::uint64_t limit, const Visit& visit);

  const PostgresShard& shard_;
  JobReader reader_;
};

}  // namespace millrace::store
