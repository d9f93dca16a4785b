// Replies: what decide answers. Values; the engine holds each back until what it rests on is
// durable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/job.h"
#include "core/queue.h"
#include "core/rejection.h"

namespace millrace::core {

// A job as memory knows it. The tables may hold older attempts, log lines and marks of it; rows
// found in both are equal.
struct JobView {
  Job job;
  std::vector<Attempt>
      attempts;  // earlier ones that memory holds, oldest first; the latest stands in the job
  std::vector<LogLine> logs;
  std::vector<Mark> marks;
  struct LogTrim {  // of the start `n`, lines below this seq are gone, in the tables too
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
    JobId id;  // of the job that stands
    // None: an existing job that is not in memory; the tables know it, or it is pruned.
    std::optional<State> state;
    std::shared_ptr<const JobView> job;  // with Detail::kJobs, where memory holds it
    bool deleted = false;                // as of a JobReply
  };
  std::vector<Item> items;
  bool refused_as_one = false;  // Atomicity::kAll and some item was refused: nothing was stored
};

struct ClaimReply {
  struct Item {
    Job job;  // with payload; lease in token, lease_expires_at, deadline
  };
  std::vector<Item> jobs;
};

// For heartbeats, acks, logs and operators' commands: one per item, in order.
struct ItemReply {
  Refusal refusal;
  JobId id;
  std::optional<State> state;
  std::optional<Time> lease_expires_at;  // heartbeat
  bool cancel_requested = false;         // heartbeat
  std::uint64_t version = 0;
  std::shared_ptr<const JobView> job;  // with Detail::kJobs and for operators' commands on one id
  bool deleted = false;                // as of a JobReply
  // Of a fence that was won with a token which was never the job's: from which token on its lease
  // that is live may win it, or its next one. Not sent from node to node.
  LeaseToken fence{};
};
struct ItemsReply {
  std::vector<ItemReply> items;
};

struct JobReply {
  std::shared_ptr<const JobView> job;  // null: not in memory; the tables may know it
  bool deleted = false;                // known to be gone: the tables' row, if any, is older
};

struct QueueReply {
  Refusal refusal;
  bool created = false;
  std::vector<Queue> queues;  // by name
};

using Reply =
    std::variant<std::monostate, EnqueueReply, ClaimReply, ItemsReply, JobReply, QueueReply>;

}  // namespace millrace::core
