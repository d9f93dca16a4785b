#include "store/postgres/postgres_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "core/bounds.h"
#include "store/blob.h"
#include "store/postgres/job_columns.h"
#include "store/postgres/postgres_workflows.h"
#include "store/row_codec.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;

constexpr const char* kSelectQueues =
    "SELECT name, detail FROM millrace.queue_rows WHERE shard = $1 ORDER BY name";
// Through the index of unfinished jobs: finished jobs are many, and are not read.
constexpr const char* kSelectLive =
    "SELECT {} FROM {} WHERE state <> 'succeeded' AND state = ANY(ARRAY['scheduled', 'ready', "
    "'running', 'retrying', 'blocked']) ORDER BY ord";
constexpr const char* kSelectKeys =
    "SELECT expires_at, key, body, job FROM millrace.key_rows WHERE shard = $1 AND expires_at > "
    "coalesce((SELECT keys_expired_until FROM millrace.shards WHERE shard = $1), "
    "-9223372036854775808) ORDER BY expires_at, key";
constexpr const char* kSelectUniques =
    "SELECT queue, key, job, until FROM millrace.unique_rows WHERE shard = $1 AND until > "
    "coalesce((SELECT uniques_released_until FROM millrace.shards WHERE shard = $1), "
    "-9223372036854775808) ORDER BY queue, key";
constexpr const char* kSelectLeases =
    "SELECT leases, count, coalesce(sum(count) OVER (), 0)::bigint FROM millrace.ended_lease_rows "
    "WHERE shard = $1 ORDER BY flush";

constexpr const char* kSelectCatalog =
    "SELECT detail FROM millrace.catalog_rows WHERE shard = $1 ORDER BY kind, name";
constexpr const char* kSelectLimits =
    "SELECT detail FROM millrace.limit_rows WHERE shard = $1 ORDER BY kind, name";
constexpr const char* kSelectBuckets =
    "SELECT detail FROM millrace.bucket_rows WHERE shard = $1 ORDER BY kind, name, key";
constexpr const char* kSelectOperations =
    "SELECT detail FROM millrace.operation_rows WHERE shard = $1 ORDER BY id";
constexpr const char* kSelectNewestAudit =
    "SELECT at, hash, detail FROM millrace.audit_rows WHERE shard = $1 ORDER BY n DESC LIMIT 1";
constexpr const char* kSelectSchedules =
    "SELECT detail FROM millrace.schedule_rows WHERE shard = $1 ORDER BY name";

// Each statement may run as long as rows arrive; the longest reads millions of jobs.
constexpr SqlLimits kLoadLimits{.lock = 10'000ms, .statement = 1'800'000ms, .silence = 600'000ms};

std::unexpected<Error> damaged(std::string_view table) {
  return failure(fmt::format("the tables are damaged: {} has an invalid row", table));
}

// Passes rows to the visitor as they arrive.
class Loading {
 public:
  Loading(const PostgresShard& shard, StateVisitor& visitor)
      : shard_(shard), visitor_(visitor), workflows_(shard) {}

  Status run() {
    SqlMessage message(kLoadLimits, Isolation::kSnapshot);
    add(message, kSelectProgress, &Loading::progress);
    add(message, kSelectQueues, &Loading::queue);
    add(message, kSelectLimits, &Loading::limit);
    add(message, kSelectBuckets, &Loading::bucket);
    message.add(
        fmt::format(fmt::runtime(kSelectLive), job_columns(kWholeJob), shard_.table("job_rows")),
        {}, taking(&Loading::job));
    add(message, kSelectKeys, &Loading::key);
    add(message, kSelectUniques, &Loading::unique);
    add(message, kSelectLeases, &Loading::leases);
    add(message, kSelectSchedules, &Loading::schedule);
    add(message, kSelectCatalog, &Loading::catalog_entry);
    add(message, kSelectOperations, &Loading::operation);
    add(message, kSelectNewestAudit, &Loading::audited);
    workflows_.add_live(message);
    const auto replies = shard_.pool->run(ConnectionPool::Use::kReading, message);
    if (!status_) return status_;
    if (!replies) return to_error(replies.error());
    return workflows_.visit_live(visitor_);
  }

 private:
  using Take = Status (Loading::*)(const SqlRow&);

  void add(SqlMessage& message, const char* sql, Take take) {
    message.add(sql, std::move(Parameters().number(shard_.shard)), taking(take));
  }
  SqlMessage::Visitor taking(Take take) {
    return [this, take](const SqlRow& row) {
      if (status_) status_ = (this->*take)(row);
      return status_.has_value();
    };
  }

  Status progress(const SqlRow& row) {
    const auto progress = read_progress(row);
    if (!progress) return std::unexpected(progress.error());
    visitor_.progress(*progress);
    return {};
  }
  Status queue(const SqlRow& row) {
    core::Queue queue;
    queue.name = SharedBytes(row.bytes(0));
    if (!decode_value(row.bytes(1), Time{}, queue)) return damaged("queue_rows");
    visitor_.queue(queue);
    return {};
  }
  Status job(const SqlRow& row) {
    const auto job = jobs_.read(row);
    if (!job) return std::unexpected(job.error());
    visitor_.job(*job);
    return {};
  }
  Status key(const SqlRow& row) {
    core::KeyRow read;
    read.key.expires_at = time_from_ms(row.number(0));
    if (!read_blob(row.bytes(1), read.key.key) || !read_blob(row.bytes(2), read.key.body) ||
        !read_blob(row.bytes(3), read.job)) {
      return damaged("key_rows");
    }
    visitor_.key(read);
    return {};
  }
  Status unique(const SqlRow& row) {
    core::HeldUnique unique;
    unique.queue = SharedBytes(row.bytes(0));
    unique.key = SharedBytes(row.bytes(1));
    if (!read_blob(row.bytes(2), unique.job)) return damaged("unique_rows");
    unique.until = time_from_ms(row.number(3));
    visitor_.held_unique(unique);
    return {};
  }
  Status leases(const SqlRow& row) {
    // Whole flushes are kept, so there may be a few leases too many.
    if (!surplus_) {
      const auto kept = static_cast<std::uint64_t>(row.number(2));
      surplus_ = kept - std::min<std::uint64_t>(kept, core::kEndedLeasesRemembered);
    }
    EndedLeases flush;
    if (!decode_value(row.bytes(0), Time{}, flush)) return damaged("ended_lease_rows");
    for (const core::EndedLease& lease : flush.items) {
      if (*surplus_ > 0) {
        --*surplus_;
      } else {
        visitor_.ended_lease(lease);
      }
    }
    return {};
  }

  Status schedule(const SqlRow& row) {
    core::Schedule schedule;
    if (!decode_value(row.bytes(0), Time{}, schedule)) return damaged("schedule_rows");
    visitor_.schedule(schedule);
    return {};
  }
  Status limit(const SqlRow& row) {
    core::Limit limit;
    if (!decode_value(row.bytes(0), Time{}, limit)) return damaged("limit_rows");
    visitor_.limit(limit);
    return {};
  }
  Status bucket(const SqlRow& row) {
    core::BucketRow bucket;
    if (!decode_value(row.bytes(0), Time{}, bucket)) return damaged("bucket_rows");
    visitor_.bucket(bucket);
    return {};
  }
  Status catalog_entry(const SqlRow& row) {
    core::CatalogEntry entry;
    if (!decode_value(row.bytes(0), Time{}, entry)) return damaged("catalog_rows");
    visitor_.catalog_entry(entry);
    return {};
  }
  Status audited(const SqlRow& row) {
    core::AuditRow read;
    if (!read_audit_row(row, read)) return damaged("audit_rows");
    visitor_.audited(read);
    return {};
  }

  Status operation(const SqlRow& row) {
    core::OperationPart part;
    if (!decode_value(row.bytes(0), Time{}, part)) return damaged("operation_rows");
    visitor_.operation(part);
    return {};
  }

  const PostgresShard& shard_;
  StateVisitor& visitor_;
  PostgresWorkflows workflows_;
  JobReader jobs_;
  std::optional<std::uint64_t> surplus_;
  Status status_;
};

}  // namespace

Result<Progress> read_progress(const SqlRow& row) {
  const auto u64 = [&](int column) { return static_cast<std::uint64_t>(row.number(column)); };
  const auto checksum = checksum_from(row.bytes(1));
  if (!checksum) return damaged("shards");
  Progress progress;
  progress.seq = Seq{u64(0)};
  progress.checksum = *checksum;
  progress.facts = {time_from_ms(row.number(2)), Epoch{u64(3)}, u64(4), u64(5)};
  return progress;
}

bool read_audit_row(const SqlRow& row, core::AuditRow& into) {
  into.at = time_from_ms(row.number(0));
  return read_blob(row.bytes(1), into.hash) &&
         decode_value(row.bytes(2), into.at, into.entry).has_value();
}

Status load_tables(const PostgresShard& shard, StateVisitor& visitor) {
  return Loading(shard, visitor).run();
}

}  // namespace millrace::store
