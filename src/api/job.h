// A job as the API shows it: states, policies, attempts, log lines. For decoding see submission.h
// and job_calls.h. Outgoing structs hold views: the caller that fills one keeps the viewed data
// alive until it is encoded.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/bounds.h"
#include "api/event.h"
#include "api/membership.h"
#include "base/ids.h"
#include "base/time.h"
#include "terms/flow.h"
#include "terms/job.h"

namespace millrace {
class JsonWriter;
}

namespace millrace::api {

using terms::AttemptOutcome;
using terms::BreakerRule;
using terms::JobLimit;
using terms::JobState;
using terms::kJobStates;
using terms::LogLevel;
using terms::name_of;
using terms::OnConflict;
using terms::Rate;
using terms::RetryStrategy;

std::string unknown_state(std::string_view name);  // a fault that lists the states

struct RetryPolicy {
  RetryStrategy strategy = RetryStrategy::kExponential;
  Duration base{kDefaultRetryBaseMs};  // this and the next two: not for kList
  Duration max{kDefaultRetryMaxMs};
  double jitter = kDefaultRetryJitter;  // 0 to 1, of the delay
  std::vector<Duration> delays;         // kList only; never empty there

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

struct UniqueKey {
  std::string key;
  std::optional<Duration> hold;  // `for_ms`, from submission; none: while the job is not terminal
  OnConflict on_conflict = OnConflict::kReturn;
  std::optional<Duration> max_wait = {};  // kDebounce only: since the first submission

  friend bool operator==(const UniqueKey&, const UniqueKey&) = default;
};

// How a failed attempt of a job with an order key affects its successors: they wait until the job
// has ended, or run while it waits for its next attempt.
enum class OrderOnFailure : std::uint8_t { kHold, kPass };
std::string_view name_of(OrderOnFailure rule);

// Strings by name, in the order sent, with unique names: `meta` and `labels`.
using StringMap = std::vector<std::pair<std::string, std::string>>;
using StringMapView = std::vector<std::pair<std::string_view, std::string_view>>;

struct Progress {
  std::optional<double> percent;  // 0 to 100
  std::string_view message;       // empty: null
  std::string_view checkpoint;    // raw JSON; empty: null
};

// Why an attempt did not succeed.
struct JobError {
  std::string_view type;
  std::string_view message;
  std::string_view stack;        // empty: null
  std::string_view fingerprint;  // empty: null
  std::int64_t attempt = 0;
  Time at{};
  bool redacted = false;  // message and stack are left out
};

struct Attempt {
  std::int64_t n = 0;        // counts every start, from 1
  std::int64_t attempt = 0;  // as in the job: does not count snoozed or released starts
  std::string_view worker;
  Time started_at{};
  std::optional<Time> finished_at;
  AttemptOutcome outcome = AttemptOutcome::kRunning;
  std::optional<JobError> error;
};

struct LogLine {
  std::uint64_t seq = 0;
  std::int64_t attempt = 0;
  Time at{};
  LogLevel level = LogLevel::kInfo;
  std::string_view message;
  bool redacted = false;  // the message is left out
};

struct Job {
  JobId id;
  std::string_view queue;
  std::string_view type;
  JobState state = JobState::kReady;
  std::int64_t priority = 0;
  std::int64_t attempt = 0;
  std::int64_t max_attempts = 0;
  std::int64_t crashes = 0;
  std::uint64_t generation = 0;
  std::uint64_t version = 0;
  Time created_at{};
  Time run_at{};
  std::optional<Time> expires_at;
  std::optional<Time> started_at;
  std::optional<Time> finished_at;
  std::optional<Time> lease_expires_at;
  std::string_view worker;  // empty: null
  bool cancel_requested = false;
  std::optional<Progress> progress;
  std::optional<JobError> last_error;
  std::optional<RetryPolicy> retry;
  std::optional<Duration> lease;
  std::optional<Duration> timeout;
  std::optional<UniqueKey> unique;
  std::vector<std::string_view> tags;
  StringMapView meta;
  std::vector<JobLimit> limits;
  std::string_view order_key;  // empty: absent
  OrderOnFailure order_on_failure = OrderOnFailure::kHold;
  std::string_view fair_key;     // empty: absent
  std::string_view traceparent;  // empty: absent
  std::string_view schedule;     // the schedule that made the job; empty: absent
  Time scheduled_at{};
  std::optional<Membership> workflow;
  bool redacted = false;  // payload, result, checkpoint and the texts of errors are left out
  // Absent unless requested. Payload and result are raw JSON; an empty result is null.
  std::optional<std::string_view> payload;
  std::optional<std::string_view> result;
  std::optional<std::vector<Attempt>> attempts;
  std::optional<std::vector<LogLine>> logs;
  std::optional<std::vector<JobEvent>> events;
};

// The answer to a repeated Idempotency-Key if retention has removed the job: {"id", "state":
// "pruned"}.
void encode_pruned_job(JsonWriter& json, const JobId& id);

void encode(JsonWriter& json, const Job& job);
void encode(JsonWriter& json, const Attempt& attempt);
void encode(JsonWriter& json, const LogLine& line);
void encode(JsonWriter& json, const JobError& error);
void encode(JsonWriter& json, const Progress& progress);
void encode(JsonWriter& json, const RetryPolicy& policy);
void encode(JsonWriter& json, const std::optional<Rate>& rate);  // none: null
void encode(JsonWriter& json, const std::optional<BreakerRule>& breaker);
void encode(JsonWriter& json, const std::vector<JobLimit>& limits);
void encode(JsonWriter& json, const StringMapView& map);
// The member `schedule` of a job: {"name", "scheduled_at"}; nothing for an empty name.
void encode_schedule_member(JsonWriter& json, std::string_view name, Time scheduled_at);

// An accepted entry of `results[]`: {"status", "id", "state"}. The state is a text because of
// "pruned".
void encode_job_result(JsonWriter& json, int status, const JobId& id, std::string_view state);

}  // namespace millrace::api
