// The workers' calls: claim, heartbeat, ack, poll and the single forms. Views and faults as in
// submission.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job.h"
#include "api/new_workflow.h"
#include "api/submission.h"
#include "api/workflow.h"

namespace millrace::api {

struct WorkerInfo {
  std::string id;  // a name
  std::string host;
  std::optional<std::int64_t> pid;
  std::string sdk;
  std::string version;
  StringMap labels;
};

struct Claim {
  std::vector<std::string> queues;  // at least one, in order of preference, without duplicates
  std::optional<std::vector<std::string>> types;  // none: any; never empty
  std::int64_t limit = 1;
  Duration wait{0};
  std::optional<Duration> lease;
  WorkerInfo worker;
};
Decoded<Claim> decode_claim(std::string_view body, const DecodeLimits& limits);

// A checkpoint is opaque, like a payload.
struct ReportedProgress {
  std::optional<double> percent;  // 0 to 100
  std::string message;
  std::string_view checkpoint;  // raw JSON; empty: none
};

// Nothing more passes the limit's gate for `length`.
struct SlowDown {
  std::string limit;  // that the job names
  std::string key;    // empty: the whole limit
  Duration length{};
};

struct Heartbeat {
  JobId id;
  LeaseToken token{kNoToken};
  std::optional<Duration> extend;            // none: the lease's length
  std::optional<ReportedProgress> progress;  // none: unchanged
  std::vector<SlowDown> slow_down = {};
  Duration wait{0};  // in the single form: for a cancellation
};

using terms::AckOutcome;

// An error as a worker reports it: cut to its bounds, with U+0000 replaced.
struct ReportedError {
  std::string type;
  std::string message;
  std::string stack;
  bool retryable = true;
};

struct ReportedLog {
  std::optional<Time> at;  // none: now
  LogLevel level = LogLevel::kInfo;
  std::string message;  // cut to its bound, with U+0000 replaced
};

// An item {"workflow": ...} of `enqueue`.
struct EnqueuedWorkflow {
  NewWorkflow workflow;
  std::size_t place = 0;  // in `enqueue`
};

struct Ack {
  JobId id;
  LeaseToken token{kNoToken};
  AckOutcome outcome = AckOutcome::kSucceeded;
  std::string_view result;             // raw JSON, with kSucceeded only; empty: none
  std::optional<ReportedError> error;  // with kFailed, kCancelled and kDead only
  std::optional<Duration> delay;       // kSnoozed: required; kFailed: replaces the job's own delay
  std::vector<ReportedLog> logs;
  std::vector<JobSubmission> enqueue;       // a fault in any of them refuses the ack
  std::vector<EnqueuedWorkflow> workflows;  // of `enqueue`, likewise
  std::vector<SlowDown> slow_down = {};
  std::optional<Growth> grow = {};  // with kSucceeded only
};

// A separate log line in a poll.
struct LogItem {
  JobId id;
  LeaseToken token{kNoToken};
  ReportedLog line;
};

// POST /v1/heartbeat and /v1/ack: {"items": [...]}, 1 to kMaxBatchItems.
Decoded<std::vector<Item<Heartbeat>>> decode_heartbeats(std::string_view body,
                                                        const DecodeLimits& limits);
Decoded<std::vector<Item<Ack>>> decode_acks(std::string_view body, const DecodeLimits& limits);

struct Poll {
  std::vector<Item<Ack>> acks;
  std::vector<Item<Heartbeat>> heartbeats;
  std::vector<Item<LogItem>> logs;
  std::optional<Claim> claim;  // the path has its worker's id
  bool goodbye = false;        // only without a claim
};
Decoded<Poll> decode_poll(std::string_view body, std::string_view worker_id,
                          const DecodeLimits& limits);

// The single forms: the path has the id.
Decoded<Ack> decode_complete(std::string_view body, const JobId& id, const DecodeLimits& limits);
Decoded<Ack> decode_fail(std::string_view body, const JobId& id, const DecodeLimits& limits);
Decoded<Ack> decode_snooze(std::string_view body, const JobId& id, const DecodeLimits& limits);
Decoded<Ack> decode_release(std::string_view body, const JobId& id, const DecodeLimits& limits);
Decoded<Heartbeat> decode_heartbeat(std::string_view body, const JobId& id,
                                    const DecodeLimits& limits);

// Whether `text` can be a worker's id; a path with one that can't is 404.
bool is_worker_id(std::string_view text);

}  // namespace millrace::api
