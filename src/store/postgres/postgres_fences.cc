#include "store/postgres/postgres_fences.h"

#include "store/blob.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;

// Only for the shard's leader: a late call of a former leader must not open a fence that a later
// generation has won. The fence of a finished job is reopened once the finish is settled, that is,
// when no inbox has its row: the shard has then carried it out or rejected it. The same holds for a
// fence that is above every token issued. Leader, fence and inbox are read in one snapshot. A
// finish committed after it stands, and so does a fence that a later generation has won by the time
// the row's lock is obtained.
constexpr const char* kRaise =
    "WITH wish AS (SELECT DISTINCT job FROM unnest($1) AS given(job) ORDER BY job), "
    "settled AS (SELECT known.job, known.token FROM wish JOIN millrace.fences AS known USING (job) "
    "WHERE (known.finished OR known.token > $2) AND NOT EXISTS "
    "(SELECT FROM millrace.inbox_rows AS lying WHERE lying.job = known.job AND lying.kind > 1)) "
    "INSERT INTO millrace.fences AS fence(job, token, finished, at) "
    "SELECT job, $2, false, clock_timestamp() FROM wish "
    "WHERE EXISTS (SELECT FROM millrace.shards WHERE shard = $3 AND epoch = $4) "
    "ON CONFLICT (job) DO UPDATE SET token = excluded.token, finished = false, at = excluded.at "
    "WHERE (NOT fence.finished AND fence.token <= excluded.token) OR EXISTS (SELECT FROM settled "
    "WHERE settled.job = fence.job AND settled.token = fence.token) "
    "RETURNING fence.job";

// The shard waits meanwhile.
constexpr SqlLimits kLimits{.lock = 50ms, .statement = 1'000ms, .silence = 2'000ms};

}  // namespace

Result<std::vector<JobId>> PostgresFences::raise(std::span<const JobId> jobs, LeaseToken token) {
  SqlArray ids(SqlType::kUuids);
  for (const JobId& job : jobs) ids.id(job);
  SqlMessage message(kLimits);
  message.add(kRaise, std::move(Parameters()
                                    .array(std::move(ids))
                                    .number(static_cast<std::int64_t>(to_number(token)))
                                    .number(shard_->shard)
                                    .number(static_cast<std::int64_t>(shard_->epoch()))));
  const auto replies = shard_->pool->run(ConnectionPool::Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  // The commit is on this server, and possibly nowhere else.
  if (!replies->warning.empty()) return failure("PostgreSQL: " + replies->warning);
  std::vector<JobId> raised;
  const SqlResult& rows = replies->results.front();
  for (int number = 0; number < rows.rows(); ++number) {
    if (!read_blob(rows.row(number).bytes(0), raised.emplace_back())) {
      return failure("millrace.fences is damaged: a row has an invalid job id");
    }
  }
  return raised;
}

}  // namespace millrace::store
