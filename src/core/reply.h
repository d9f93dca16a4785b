// Replies: the values that decide() returns. The engine holds each one back until the state from
// which it was made is durable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/catalog/catalog.h"
#include "core/jobs/job.h"
#include "core/operations/operation.h"
#include "core/queues/queue.h"
#include "core/rejection.h"
#include "core/schedules/schedule.h"
#include "core/workflows/workflow_reply.h"

namespace millrace::core {

// A job as memory knows it. The tables may hold older attempts, log lines and marks; rows found in
// both are equal.
struct JobView {
  Job job;
  std::vector<Attempt> attempts;  // earlier ones in memory, oldest first; the latest is in the job
  std::vector<LogLine> logs;
  std::vector<Mark> marks;
  struct LogTrim {  // lines of the start `n` below this seq are gone, in the tables too
    std::uint32_t n;
    std::uint32_t below;
  };
  std::vector<LogTrim> log_trims;
};

enum class Fate : std::uint8_t {
  kCreated,
  kExisting,  // found by its id, key or unique key
  kRefused,
};

struct EnqueueReply {
  struct Item {
    Fate fate{};
    Refusal refusal;
    JobId id;  // of the job that now has the id or key
    // None: the existing job is not in memory; the tables know it, or it was pruned.
    std::optional<State> state;
    std::shared_ptr<const JobView> job;  // with Detail::kJobs, if in memory
    bool deleted = false;                // see JobReply
    bool by_key = false;                 // kExisting: found by its idempotency key
  };
  std::vector<Item> items;
  bool refused_as_one = false;  // Atomicity::kAll and an item was refused: nothing was stored
};

struct ClaimReply {
  struct Item {
    Job job;  // with payload; lease in token, lease_expires_at, deadline
  };
  std::vector<Item> jobs;
};

// For heartbeats, acks, logs and operators' commands: one item each, in order.
struct ItemReply {
  Refusal refusal;
  JobId id;
  std::optional<State> state;
  std::optional<Time> lease_expires_at;  // heartbeat
  bool cancel_requested = false;         // heartbeat
  std::uint64_t version = 0;
  std::shared_ptr<const JobView> job;  // with Detail::kJobs, and for operators' commands on one id
  bool deleted = false;                // see JobReply
  // If a fence was won with a token that was never the job's: the lowest token that may win it
  // again. That is the token of the job's live lease or, without one, of its next lease. Not sent
  // from node to node.
  LeaseToken fence{};
};
struct ItemsReply {
  std::vector<ItemReply> items;
};

struct JobReply {
  std::shared_ptr<const JobView> job;  // null: not in memory; the tables may know it
  bool deleted = false;                // known to be deleted: a row in the tables is stale
};

struct QueueReply {
  Refusal refusal;
  bool created = false;
  std::vector<Queue> queues;  // by name
  // Pass it as `after` for the next page; empty: there are no more.
  SharedBytes next = {};
  // If GetQueues asked for them: the blockers, those with the most waiting ready jobs first; and
  // the number of ready jobs that could not start now.
  std::vector<Blocker> blocked_by = {};
  std::uint64_t held_back = 0;
};

struct ScheduleReply {
  Refusal refusal;
  bool created = false;
  bool changed = false;
  std::vector<Schedule> schedules;  // by name
  // For GetSchedules of one: its runs that the tables may not have yet, oldest first.
  std::vector<ScheduleRunRow> runs;
  // Pass it as `after` for the next page; empty: there are no more.
  SharedBytes next;
};

struct CatalogReply {
  Refusal refusal;
  bool created = false;
  // For PutCatalogEntry: the entry. For GetCatalog: the changed entries, in order of revision.
  std::vector<CatalogEntry> entries;
  // The number of entries in the catalog. If a copy has another number after applying `entries`, it
  // has missed a deletion, and requests all entries.
  std::uint64_t total = 0;
  bool more = false;  // ask again, from the revision of the last entry
};

// A job that holds a slot of a limit.
struct LimitHolder {
  JobId job;
  SharedBytes key;
  SharedBytes worker;
  Time since{};
};

struct LimitReply {
  Refusal refusal;
  bool created = false;
  bool changed = false;
  std::vector<LimitView> limits;  // by name
  std::vector<GateUse> keys;
  std::vector<LimitHolder> holders;
  bool named = false;  // for one limit: a queue adds it to its jobs
  // Pass it as `after` for the next page; empty: there are no more.
  SharedBytes next;
};

struct WhyReply {
  bool known = false;  // false: the job is not in memory
  State state{};
  Time at{};
  // All current reasons, in order. Empty: the next claim of the job's queue and type gets it.
  std::vector<Blocker> blocking;
};

using Reply =
    std::variant<std::monostate, EnqueueReply, ClaimReply, ItemsReply, JobReply, QueueReply,
                 ScheduleReply, CatalogReply, LimitReply, WhyReply, OperationReply, WorkflowReply>;

}  // namespace millrace::core
