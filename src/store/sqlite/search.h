// Lists and searches over jobs.db. All SQL is fixed text. A filter becomes sorted streams of ords
// from an index (by workflow, by id, by queue and state, by state, or all). They are merged newest
// first and limited to the range of ords that its creation times allow. Then each job is read,
// cheap columns first, and checked against the remaining conditions (store/job_match.h).
//
// So no statement ever runs long, and a page can end after any job when its time is up.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "core/jobs/job_filter.h"
#include "store/sqlite/database.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/queue_ids.h"
#include "store/tables.h"

namespace millrace::store {

using Clock = std::function<std::chrono::steady_clock::time_point()>;

class Search {
 public:
  Search(Database& database, JobRowReader& rows, const QueueIds& queues, const Clock& clock);

  Result<JobPage> list(const JobQuery& query);
  Result<Tables::IdPage> select_ids(const core::JobFilter& filter,
                                    std::optional<std::uint64_t> after_ord, std::uint32_t limit,
                                    ReadBudget budget);
  Result<std::uint64_t> count(const core::JobFilter& filter, std::uint64_t limit,
                              ReadBudget budget);

 private:
  // Ords from `least` to `most`, both included.
  struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  // One sorted stream, newest first; `ord` is its next one.
  struct Stream {
    std::unique_ptr<Statement> select;
    std::int64_t ord = 0;
  };
  // The remaining conditions, by the parts of a job that they read.
  struct Rest {
    std::vector<const core::Condition*> columns, detail, payload, result;
    bool empty() const {
      return columns.empty() && detail.empty() && payload.empty() && result.empty();
    }
  };
  struct Plan {
    Range range;
    std::vector<Stream> streams;
    // The condition that the streams guarantee, which need not be checked on each job.
    const core::Condition* answered = nullptr;
    bool states_answered = false;
    Rest rest;
    std::chrono::steady_clock::time_point end;
    std::stop_token gone;  // see ReadBudget
  };
  enum class Ended : std::uint8_t { kAll, kByVisitor, kByTime };

  Result<Plan> plan(const core::JobFilter& filter, std::optional<std::uint64_t> after_ord,
                    ReadBudget budget);
  Result<Range> range_of(const core::JobFilter& filter, std::optional<std::uint64_t> after_ord);
  // The newest ord whose job was created before `time`; 0: none.
  Result<std::int64_t> newest_before(std::int64_t time_ms);
  Status open_streams(const core::JobFilter& filter, Plan& plan);
  template <typename... Values>
  Status open_stream(Plan& plan, const char* sql, const Values&... values);
  // Takes the newest ord of all streams, and advances those that had it; 0: the end.
  Result<std::int64_t> take_newest(Plan& plan);
  // Calls `visit` with each ord that matches; `last` is the last one looked at. The job's row is
  // current in select_job_ if `need_rows`, or if the plan has remaining conditions.
  Result<Ended> run(Plan& plan, bool need_rows, std::int64_t& last,
                    const std::function<Result<bool>(std::int64_t, core::Job&)>& visit);
  Result<bool> meets(const Rest& rest, core::Job& job);

  Database& database_;
  JobRowReader& rows_;
  const QueueIds& queues_;
  const Clock& clock_;
  Statement select_job_;
  Statement select_newest_;
  Statement select_created_;
};

}  // namespace millrace::store
