// Changes: the rows that the projection writes to bring the tables to the exact state after a
// journal row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/audit/audit.h"
#include "core/catalog/catalog.h"
#include "core/event.h"
#include "core/flow/limit.h"
#include "core/flow/share.h"
#include "core/jobs/job.h"
#include "core/operations/operation.h"
#include "core/queues/queue.h"
#include "core/schedules/schedule.h"
#include "core/workflows/workflow.h"

namespace millrace::core {

// The durable facts of a shard besides its jobs and queues. One row.
struct ShardFacts {
  Time at{};  // of the last applied batch: the shard's clock never goes back before it
  Epoch epoch{};
  std::uint64_t next_token = 1;
  std::uint64_t next_ord = 1;
};

struct KeyRow {
  IdempotencyKey key;
  JobId job;
};

// How a lease ended, so that a repeated ack gets the same answer.
struct EndedLease {
  LeaseToken token{};
  JobId job;
  AttemptOutcome outcome{};
  State state{};  // the job's, right after
};

// A unique key that a job holds after its end, possibly beyond its retention.
struct HeldUnique {
  SharedBytes queue;
  SharedBytes key;
  JobId job;
  std::optional<Time> until;  // none (in Changes only): no longer held; the row is deleted
};

struct Changes {
  ShardFacts facts;
  std::vector<JobId> deleted;  // with their attempts, logs and marks; to be applied before `jobs`
  std::vector<Job> jobs;       // new or changed, whole
  struct AttemptRow {
    std::uint64_t ord;
    Attempt attempt;
  };
  struct LogRow {
    std::uint64_t ord;
    LogLine line;
  };
  struct LogTrim {  // an attempt's log has exceeded its bound: delete its lines below `seq`
    std::uint64_t ord;
    std::uint32_t seq;
    std::uint32_t n;
  };
  struct MarkRow {
    std::uint64_t ord;
    Mark mark;
  };
  std::vector<AttemptRow> attempts;  // earlier attempts, insert only
  std::vector<LogRow> logs;          // insert only
  std::vector<LogTrim> log_trims;    // to be applied after `logs`
  std::vector<MarkRow> marks;        // insert only
  // Deleted queues by name; none of them is among `queues`. To be applied after `deleted`.
  std::vector<SharedBytes> deleted_queues;
  std::vector<Queue> queues;  // changed, whole, by name
  // Deleted schedules by name, with their runs; to be applied before the next two.
  std::vector<SharedBytes> deleted_schedules;
  std::vector<Schedule> schedules;  // changed, whole, by name
  // Insert only; the store keeps the last kRunsKept of each schedule.
  std::vector<ScheduleRunRow> schedule_runs;
  std::vector<CatalogKey> deleted_catalog;  // none of them is in `catalog`
  std::vector<CatalogEntry> catalog;        // changed, whole, by key
  // Deleted limits, with the rows of their buckets; to be applied before the next two.
  struct DeletedLimit {
    LimitKind kind;
    SharedBytes name;
  };
  std::vector<DeletedLimit> deleted_limits;
  std::vector<Limit> limits;              // changed, whole, by kind and name
  std::vector<BucketRow> buckets;         // changed; an idle one is deleted
  std::vector<JobId> deleted_operations;  // none of them is in `operations`
  std::vector<OperationPart> operations;  // changed, whole, by id
  // With their rows; to be applied before the next three, which may have one that was made again.
  std::vector<JobId> deleted_workflows;
  std::vector<Workflow> workflows;  // changed, whole, by id
  std::vector<MemberChunk> member_chunks;
  std::vector<FatePage> fate_pages;  // changed, whole
  std::vector<KeyRow> keys;          // insert only
  std::optional<Time> keys_expired_until;
  std::vector<HeldUnique> held_uniques;  // by (queue, key), in order: the last row of a key counts
  std::optional<Time> uniques_released_until;  // then delete rows with `until` up to this
  std::vector<EndedLease>
      ended_leases;  // in order of ending; the store keeps the last kEndedLeasesRemembered
  std::vector<AuditRow> audit;  // insert only, by number; an existing row stays
  // Then delete older rows, except the newest row.
  std::optional<Time> audit_until;

  bool empty() const {
    return deleted.empty() && jobs.empty() && attempts.empty() && logs.empty() &&
           log_trims.empty() && marks.empty() && deleted_queues.empty() && queues.empty() &&
           deleted_schedules.empty() && schedules.empty() && schedule_runs.empty() &&
           deleted_catalog.empty() && catalog.empty() && deleted_limits.empty() && limits.empty() &&
           buckets.empty() && deleted_operations.empty() && operations.empty() &&
           deleted_workflows.empty() && workflows.empty() && member_chunks.empty() &&
           fate_pages.empty() && keys.empty() && !keys_expired_until && held_uniques.empty() &&
           !uniques_released_until && ended_leases.empty() && audit.empty();
  }
};

}  // namespace millrace::core
