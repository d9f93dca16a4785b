#include "store/postgres/postgres_fences.h"

#include "store/blob.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;

// Of the shard's leader alone: one that comes late, from a former one, must not open a fence that a
// later generation has won. A job that was finished begins anew when nothing of that is to come:
// its shard has it as succeeded, and no inbox has the row. Both are looked at as of one instant;
// what is committed after it counts as finished, and so does what a later generation has won by the
// time that its lock is had.
constexpr const char* kRaise =
    "WITH wish AS (SELECT job, max(succeeded) AS succeeded FROM unnest($1, $2) "
    "AS given(job, succeeded) GROUP BY job ORDER BY job), "
    "settled AS (SELECT job FROM wish JOIN millrace.fences AS known USING (job) "
    "WHERE known.finished AND wish.succeeded = 1 AND NOT EXISTS "
    "(SELECT FROM millrace.inbox_rows AS lying WHERE lying.job = known.job AND lying.kind = 2)) "
    "INSERT INTO millrace.fences AS fence(job, token, finished, at) "
    "SELECT job, $3, false, clock_timestamp() FROM wish "
    "WHERE EXISTS (SELECT FROM millrace.shards WHERE shard = $4 AND epoch = $5) "
    "ON CONFLICT (job) DO UPDATE SET token = greatest(fence.token, excluded.token), "
    "finished = false, at = excluded.at WHERE NOT fence.finished "
    "OR (fence.token <= excluded.token "
    "AND EXISTS (SELECT FROM settled WHERE settled.job = fence.job)) "
    "RETURNING fence.job";

// The shard waits meanwhile.
constexpr SqlLimits kLimits{.lock = 50ms, .statement = 1'000ms, .silence = 2'000ms};

}  // namespace

Result<std::vector<JobId>> PostgresFences::raise(std::span<const EndedJob> jobs, LeaseToken token) {
  SqlArray ids(SqlType::kUuids);
  SqlArray succeeded(SqlType::kNumbers);
  for (const EndedJob& job : jobs) {
    ids.id(job.id);
    succeeded.number(std::int64_t{job.succeeded});
  }
  SqlMessage message(kLimits);
  message.add(kRaise, std::move(Parameters()
                                    .array(std::move(ids))
                                    .array(std::move(succeeded))
                                    .number(static_cast<std::int64_t>(to_number(token)))
                                    .number(shard_->shard)
                                    .number(static_cast<std::int64_t>(shard_->epoch()))));
  const auto replies = shard_->pool->run(ConnectionPool::Use::kWriting, message);
  if (!replies) return to_error(replies.error());
  // It stands here, and perhaps only here.
  if (!replies->warning.empty()) return failure("PostgreSQL: " + replies->warning);
  std::vector<JobId> raised;
  const SqlResult& rows = replies->results.front();
  for (int number = 0; number < rows.rows(); ++number) {
    if (!read_blob(rows.row(number).bytes(0), raised.emplace_back())) {
      return failure("millrace.fences is damaged: no job's id");
    }
  }
  return raised;
}

}  // namespace millrace::store
