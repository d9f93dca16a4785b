// The requests that a shard takes from outside, and the answers. A request is a core command, or
// one of the few things that the loop serves itself: waiting, workers, the projection's position.
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
#include "terms/worker.h"

namespace millrace::engine {

// A worker's description of itself. In memory only, while the worker is seen; not durable state.
struct WorkerInfo {
  SharedBytes id;
  std::string host;
  std::optional<std::int64_t> pid;
  std::string sdk;
  std::string version;
  std::vector<std::pair<std::string, std::string>> labels;  // as sent; the engine only stores them
};

// A claim that waits up to `wait` for a job. The answer is a ClaimReply.
struct WaitingClaim {
  core::Claim claim;
  Duration wait{};
  WorkerInfo worker;
};

// Everything that a worker sends in one round trip. Acks, heartbeats and logs are committed at
// once, before the claim waits.
struct Poll {
  WorkerInfo worker;
  core::Ack acks;
  core::Heartbeat heartbeats;
  core::AppendLogs logs;
  std::optional<core::Claim> claim;
  Duration wait{};
  bool goodbye = false;  // the worker ends; only without a claim
};

// Waits until the job has ended or was deleted, or for `wait`. The answer is a JobReply with the
// job as it is then.
struct WatchJob {
  JobId id;
  Duration wait{};
  SharedBytes queue = {};  // the job's queue; empty: the id determines the shard
  // Sent by the holder of a lease: also answers when that lease is over, or when the job is to be
  // cancelled.
  LeaseToken lease = kNoToken;
};

// Finds a job on any shard, since an id that a client chose does not determine the shard. The
// answer is a JobReply. A shard gets it as core::GetJob.
struct FindJob {
  JobId id;
};

// Answers when the tables hold everything that was durable at the time of this request.
struct AwaitProjection {};

// Answers when a journal has a durable row after its entry in `after`, or after `wait`. Refused by
// a shard that drains or changes hands, since it can't wait there.
struct AwaitEvents {
  std::vector<Seq> after;  // by shard; to a shard, its own entry only
  Duration wait{};
};

// Answers when a claim over these queues might find something, when there is a command for the
// worker, or after `wait`. A claim over several shards leaves one of these on each shard. It leases
// nothing. Refused wherever such a claim would be.
struct AwaitWork {
  std::vector<SharedBytes> queues;
  std::vector<SharedBytes> types;  // empty: any
  SharedBytes worker;              // empty: none
  Duration wait{};
  bool no_commands = false;  // for a plain claim, whose reply has no room for commands
};

// Asks for a schedule's questions about workflows, and jobs on other shards, and for messages about
// shares of limits. Answers when there are some, or after `wait`. The caller asks the other shard
// about each job, and then sends TellOfJob; a question without an answer is repeated. Used only
// between a shard and the node that leads it.
struct AwaitJobQuestions {
  Duration wait{};
};
struct JobQuestion {
  SharedBytes schedule;
  JobId job;
  Duration wait{};        // answer when the job has ended, or after this time
  bool cancel = false;    // cancel the job first
  bool workflow = false;  // the job is a workflow
};
struct JobQuestions {
  std::vector<JobQuestion> items;
  std::vector<core::ShareMessage> shares;  // for other shards, or for this one
};
struct TellOfJob {
  SharedBytes schedule;
  JobId job;
  bool ended = false;  // or gone
};

// Asks for the next step of an operation (core/operations/operation.h); answers without one after
// `wait`. The caller selects jobs from the tables, and then sends core::StepOperation. Used only
// between a shard and the node that leads it.
struct OperationSharers {
  JobId id;
  std::uint32_t sharers = 1;  // shards with unfinished parts, which share the rate
};
struct AwaitOperationWork {
  Duration wait{};
  std::vector<OperationSharers> sharers;  // if the caller knows them; otherwise all shards
};
struct OperationWork {
  std::optional<core::OperationPart> part;  // none: nothing to do now
  std::uint32_t limit = 0;                  // of jobs to select
};

struct ListWorkers {};

using terms::WorkerState;
struct SetWorkerState {  // kQuiet or kStopping
  SharedBytes worker;
  WorkerState state{};
};

using Request = std::variant<core::Command, WaitingClaim, Poll, WatchJob, FindJob, AwaitProjection,
                             AwaitEvents, AwaitWork, ListWorkers, SetWorkerState, AwaitJobQuestions,
                             TellOfJob, AwaitOperationWork>;

// --- Answers.

struct WorkerCommand {  // sent to a worker in the reply to its poll
  using Kind = terms::WorkerCommandKind;
  Kind kind{};
  JobId job;  // kCancel
  LeaseToken token{};
};

struct PollReply {
  core::ItemsReply acks;
  core::ItemsReply heartbeats;
  core::ItemsReply logs;
  core::ClaimReply claim;
  std::vector<WorkerCommand> commands;
  bool news = false;  // it contains a command that was not sent before
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
  bool found = true;                // false: no worker had the name in SetWorkerState
  std::vector<WorkerView> workers;  // by id
};

// The shard cannot do it now; the caller may retry.
enum class Unavailable : std::uint8_t {
  kDraining,    // the shard is stopping
  kStorage,     // the journal can't be written
  kOverloaded,  // the hard limit on lag or memory is exceeded
  kNoLeader,    // the shard has no leader that can be reached; nothing was done
  kUnknown,     // sent to the shard's leader, but unanswered; it may have been done
  kUpgrading,   // an older node that takes part would not understand it
};

// The node that leads the shard checked the client's credentials and refused them; nothing was
// done. The node that was asked first had accepted them, so the two were given different tokens, or
// a token expired on the way.
enum class Denied : std::uint8_t {
  kUnauthenticated,  // no valid token
  kScope,            // the token lacks the scope
  kQueue,  // the token does not give access to a queue named in it, or to the queue of a named job
};

// monostate: AwaitProjection, AwaitEvents, AwaitWork or TellOfJob is done.
using Answer = std::variant<std::monostate, core::Reply, PollReply, WorkersReply, Unavailable,
                            Denied, JobQuestions, OperationWork>;

}  // namespace millrace::engine
