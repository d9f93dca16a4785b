// The answers to workers, and workers as shown by the API. Views as in job.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/job.h"
#include "api/problem.h"
#include "terms/worker.h"

namespace millrace::api {

struct ClaimedJob {
  JobId id;
  std::string_view queue;
  std::string_view type;
  std::string_view payload = "null";  // raw JSON
  std::int64_t priority = 0;
  std::int64_t attempt = 0;
  std::int64_t max_attempts = 0;
  LeaseToken token{kNoToken};
  Time lease_expires_at{};
  Duration lease{};  // by which a heartbeat extends the lease
  Time created_at{};
  std::optional<Time> deadline;  // absent without a timeout
  std::optional<Duration> timeout;
  std::vector<std::string_view> tags;
  StringMapView meta;
  std::string_view traceparent;  // empty: absent; the same for the next
  std::string_view tracestate;
  std::string_view schedule;  // see api::Job
  Time scheduled_at{};
  std::optional<Membership> workflow;
  std::vector<Parent> parents;       // empty: absent
  std::optional<Progress> progress;  // left by the previous attempt
};
void encode(JsonWriter& json, const ClaimedJob& job);

// Entries of `results[]`. For an accepted ack use encode_job_result() of job.h with status 200, for
// a refusal encode_refused_result() of problem.h.
void encode_heartbeat_result(JsonWriter& json, const JobId& id, Time expires_at,
                             bool cancel_requested);

struct WorkerCommand {
  using Kind = terms::WorkerCommandKind;
  Kind kind = Kind::kQuiet;
  JobId job_id;  // this and the token: kCancel only
  LeaseToken token{kNoToken};
};
void encode(JsonWriter& json, const WorkerCommand& command);

using terms::WorkerState;

// Empty texts are null.
struct Worker {
  std::string_view id;
  std::string_view host;
  std::optional<std::int64_t> pid;
  std::string_view sdk;
  std::string_view version;
  StringMapView labels;
  std::vector<std::string_view> queues;
  std::vector<std::string_view> types;  // empty: null, any
  WorkerState state = WorkerState::kActive;
  Time first_seen_at{};
  Time last_seen_at{};
  struct Running {
    JobId id;
    std::string_view queue;
    std::string_view type;
    std::int64_t attempt = 0;
    Time started_at{};
    Time lease_expires_at{};
  };
  std::vector<Running> running;
};
void encode(JsonWriter& json, const Worker& worker);

}  // namespace millrace::api
