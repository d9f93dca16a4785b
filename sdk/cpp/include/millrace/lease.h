// What a worker and the server say to each other. Most workers are written on worker.h, which does
// this for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/job.h"

namespace millrace::sdk {

// A job with the lease on one attempt at it.
struct ClaimedJob {
  std::string id{};
  std::string queue{};
  std::string type{};
  std::string payload{};  // raw JSON
  int attempt = 0;
  int max_attempts = 0;
  std::uint64_t token = 0;  // goes with every heartbeat and ack; a later lease has a greater one
  std::optional<Timestamp> lease_expires_at{};
  std::optional<Milliseconds> lease{};  // its length, where the server says
  std::optional<Timestamp> deadline{};
  Meta meta{};
  std::string traceparent{};
  std::string checkpoint{};  // raw JSON: what an earlier attempt left with its progress
};

// A line for the job's log.
struct WorkerLogLine {
  std::optional<Timestamp> at{};
  std::string level{};  // "debug", "info", "warn", "error"; empty: info
  std::string message{};
};

// How an attempt ended.
struct Ack {
  std::string id{};
  std::uint64_t token = 0;
  std::string outcome{};  // "succeeded", "failed", "snoozed", "released", "cancelled", "dead"
  std::string result{};   // raw JSON, empty: none
  std::optional<JobError> error{};
  bool retryable = true;
  std::optional<Milliseconds> delay{};  // of "snoozed", and of "failed" in place of the job's own
  std::vector<WorkerLogLine> logs{};
  std::vector<NewJob> enqueue{};  // submitted in the same commit
};

struct Heartbeat {
  std::string id{};
  std::uint64_t token = 0;
  std::optional<Milliseconds> extend{};
  std::optional<Progress> progress{};
  std::string checkpoint{};  // raw JSON, empty: none
};

struct AttemptLogLine {
  std::string id{};
  std::uint64_t token = 0;
  WorkerLogLine line{};
};

struct Claim {
  std::vector<std::string> queues{};  // in order of preference
  std::vector<std::string> types{};   // empty: any
  int limit = 1;                      // 1 to 1,000
  Milliseconds wait{0};               // at most 60 s
  std::optional<Milliseconds> lease{};
};

struct WorkerInfo {
  std::string id{};
  std::string host{};
  int pid = 0;
};

// Everything in one round trip: acks are committed before the claim waits.
struct PollRequest {
  std::vector<Ack> acks{};
  std::vector<Heartbeat> heartbeats{};
  std::vector<AttemptLogLine> logs{};
  std::optional<Claim> claim{};
  WorkerInfo worker{};   // sent with a claim
  bool goodbye = false;  // the worker ends; not with a claim
};

// Answer to an ack or a heartbeat; refused where `error` is set (`lease_lost`: another may have the
// job now).
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
