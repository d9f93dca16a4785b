// The messages between a worker and the server. Most programs use worker.h, which sends them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "millrace/job.h"
#include "millrace/workflow_shapes.h"

namespace millrace::sdk {

// A claimed job, with the lease on one attempt.
struct ClaimedJob {
  std::string id{};
  std::string queue{};
  std::string type{};
  std::string payload{};  // raw JSON
  int attempt = 0;
  int max_attempts = 0;
  std::uint64_t token = 0;  // sent with every heartbeat and ack; later leases have greater ones
  std::optional<Timestamp> lease_expires_at{};
  std::optional<Milliseconds> lease{};  // the lease's length, if the server states it
  std::optional<Timestamp> deadline{};
  std::optional<Milliseconds> timeout{};  // of one attempt, if the server states it
  std::vector<std::string> tags{};
  Meta meta{};
  std::string traceparent{};
  std::string tracestate{};
  std::optional<JobSchedule> schedule{};
  std::optional<ClaimedWorkflow> workflow{};
  std::vector<std::pair<std::string, Parent>> parents{};  // what its member needs, by ref
  std::string checkpoint{};  // raw JSON saved by an earlier attempt with its progress
};

// A line for the job's log.
struct WorkerLogLine {
  std::optional<Timestamp> at{};
  std::string level{};  // "debug", "info", "warn", "error"; empty: info
  std::string message{};
};

// Closes the gate of one of the job's limits for `length`, because an upstream is overloaded.
struct SlowDown {
  std::string limit{};
  Milliseconds length{};  // 100 ms to an hour
  std::string key{};      // the job's key for this limit; empty: the whole limit
};

// What a member of a workflow does to it in the commit of its success.
struct Growth {
  std::vector<NewMember> members{};  // each with a ref; one that is there is left alone
  std::vector<std::string> skip{};   // refs of members that wait for this one

  bool empty() const { return members.empty() && skip.empty(); }
};

// The outcome of an attempt.
struct Ack {
  std::string id{};
  std::uint64_t token = 0;
  std::string outcome{};  // "succeeded", "failed", "snoozed", "released", "cancelled", "dead"
  std::string result{};   // raw JSON; empty: none
  std::optional<JobError> error{};
  bool retryable = true;
  std::optional<Milliseconds> delay{};  // "snoozed": required; "failed": overrides the job's delay
  std::vector<WorkerLogLine> logs{};
  std::vector<NewJob> enqueue{};  // submitted in the same commit
  std::vector<SlowDown> slow_down{};
  Growth grow{};
};

struct Heartbeat {
  std::string id{};
  std::uint64_t token = 0;
  std::optional<Milliseconds> extend{};
  std::optional<Progress> progress{};
  std::string checkpoint{};  // raw JSON; empty: none
  std::vector<SlowDown> slow_down{};
};

struct AttemptLogLine {
  std::string id{};
  std::uint64_t token = 0;
  WorkerLogLine line{};
};

struct Claim {
  std::vector<std::string> queues{};  // in order of preference
  std::vector<std::string> types{};   // empty: any type
  int limit = 1;                      // 1 to 1,000
  Milliseconds wait{0};               // at most 60 s
  std::optional<Milliseconds> lease{};
};

struct WorkerInfo {
  std::string id{};
  std::string host{};
  int pid = 0;
  std::string version{};  // of the worker's program
};

// One round trip with everything; acks are committed before the claim waits.
struct PollRequest {
  std::vector<Ack> acks{};
  std::vector<Heartbeat> heartbeats{};
  std::vector<AttemptLogLine> logs{};
  std::optional<Claim> claim{};
  WorkerInfo worker{};   // sent with a claim
  bool goodbye = false;  // the worker is ending; not with a claim
};

// The answer to an ack or a heartbeat. `error` is set if it was refused (`lease_lost`: another
// worker may have the job now).
struct PollItem {
  int status = 0;
  std::string id{};
  bool cancel_requested = false;
  std::optional<Timestamp> expires_at{};
  std::optional<Error> error{};
};

struct WorkerCommand {
  std::string type{};  // "quiet", "stop", "cancel"
  std::string job_id{};
  std::uint64_t token = 0;
};

struct PollAnswer {
  std::vector<PollItem> acks{};
  std::vector<PollItem> heartbeats{};
  std::vector<ClaimedJob> jobs{};
  std::vector<WorkerCommand> commands{};
};

}  // namespace millrace::sdk
