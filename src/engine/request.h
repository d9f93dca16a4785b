// What may be asked of a shard from outside, and what comes back. A request is a core command, or
// one of the few things that the loop itself serves: waiting, workers, the projection's position.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/command.h"
#include "core/reply.h"

namespace millrace::engine {

// What a worker says of itself. Kept in memory while it is seen; not part of the durable state.
struct WorkerInfo {
  SharedBytes id;
  std::string host;
  std::optional<std::int64_t> pid;
  std::string sdk;
  std::string version;
  std::vector<std::pair<std::string, std::string>> labels;  // as sent; the engine only keeps them
};

// A claim that waits up to `wait` for a job. Answered by ClaimReply.
struct WaitingClaim {
  core::Claim claim;
  Duration wait{};
  WorkerInfo worker;
};

// All of a worker's round trip. Acks, heartbeats and logs are committed at once, before the claim
// waits.
struct Poll {
  WorkerInfo worker;
  core::Ack acks;
  core::Heartbeat heartbeats;
  core::AppendLogs logs;
  std::optional<core::Claim> claim;
  Duration wait{};
  bool goodbye = false;  // the worker ends; without a claim
};

// Answers when the job has ended (or was deleted), or after `wait`, with the job as it then is:
// JobReply.
struct WatchJob {
  JobId id;
  Duration wait{};
  SharedBytes queue = {};  // that it lies in, where its id does not say so; empty: it does
  // Of its holder: answers when that lease is over, too, or the job is to be cancelled.
  LeaseToken lease = kNoToken;
};

// The job, whichever shard has it: a client's own id tells nothing of where it lies. JobReply; on a
// shard it is core::GetJob.
struct FindJob {
  JobId id;
};

// Answers when the tables hold everything that was durable when this was asked.
struct AwaitProjection {};

// Answers when a journal has a durable row after its `after`, or after `wait`. Refused where it
// can't wait: on a shard that drains or changes hands.
struct AwaitEvents {
  std::vector<Seq> after;  // by shard; on a shard, its own alone
  Duration wait{};
};

// Answers when a claim over these queues might find something, or there is an order for the worker,
// or after `wait`: what a claim over several shards leaves on each. It leases nothing. Refused
// where such a claim would be.
struct AwaitWork {
  std::vector<SharedBytes> queues;
  std::vector<SharedBytes> types;  // empty: any
  SharedBytes worker;              // empty: nobody
  Duration wait{};
  bool no_orders = false;  // for a plain claim, which can't carry them
};

struct ListWorkers {};

enum class WorkerState : std::uint8_t { kActive, kQuiet, kStopping };
struct CommandWorker {  // kQuiet or kStopping
  SharedBytes worker;
  WorkerState state{};
};

using Request = std::variant<core::Command, WaitingClaim, Poll, WatchJob, FindJob, AwaitProjection,
                             AwaitEvents, AwaitWork, ListWorkers, CommandWorker>;

// --- Answers.

struct WorkerOrder {  // told to a worker in its poll
  enum class Kind : std::uint8_t { kQuiet, kStop, kCancel };
  Kind kind{};
  JobId job;  // kCancel
  LeaseToken token{};
};

struct PollReply {
  core::ItemsReply acks;
  core::ItemsReply heartbeats;
  core::ItemsReply logs;
  core::ClaimReply claim;
  std::vector<WorkerOrder> orders;
  bool news = false;  // an order among them is told for the first time
};

struct WorkerView {
  WorkerInfo info;
  WorkerState state{};
  std::vector<SharedBytes> queues;  // of its last claim
  std::vector<SharedBytes> types;
  Time first_seen_at{};
  Time last_seen_at{};
  std::vector<core::JobView> running;
};
struct WorkersReply {
  bool found = true;                // false: CommandWorker named nobody
  std::vector<WorkerView> workers;  // by id
};

// The shard can't do it now; the caller may come back.
enum class Unavailable : std::uint8_t {
  kDraining,    // stopping
  kStorage,     // the journal can't be written
  kOverloaded,  // the hard limit on lag or memory
  kNoLeader,    // nobody leads the shard, or who does can't be reached: nothing was done
  kUnknown,     // it was sent to the shard's leader, and no answer came: it may have been done
  kUpgrading,   // a node of an older version takes part that would not understand it
};

// The node that leads the shard looked at the client's credentials anew, and they do not do:
// nothing was done. The node that was asked first had found them good, so the two were told
// different tokens, or one has expired on the way.
enum class Denied : std::uint8_t {
  kUnauthenticated,  // no live token
  kScope,            // it lacks the scope
  kQueue,            // it does not open a queue that is named, or that a job lies in
};

// monostate: AwaitProjection, AwaitEvents and AwaitWork are done.
using Answer =
    std::variant<std::monostate, core::Reply, PollReply, WorkersReply, Unavailable, Denied>;

}  // namespace millrace::engine
