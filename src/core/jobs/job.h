// The job as a value, as events carry it, tables keep it and replies show it. The machine holds the
// same facts more compactly.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/flow/limit.h"
#include "core/workflows/member.h"
#include "terms/job.h"

namespace millrace::core {

using State = terms::JobState;
using terms::AttemptOutcome;
using terms::is_terminal;
using terms::is_waiting;
using terms::OnConflict;
using terms::RetryStrategy;
inline constexpr std::size_t kStateCount = terms::kJobStates;

struct RetryPolicy {
  RetryStrategy strategy = RetryStrategy::kExponential;
  Duration base{};
  Duration max{};
  std::uint32_t jitter_ppm = 0;  // the delay varies by up to this share, either way
  std::vector<Duration> delays;  // kList only: before attempt 2, 3, ...; the last one repeats
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};
// Exponential from 5 s to 5 min, with a jitter of up to a fifth.
const std::shared_ptr<const RetryPolicy>& default_retry_policy();

struct UniqueRule {
  SharedBytes key;                   // 1 to 255 bytes, within the queue
  std::optional<Duration> hold_for;  // counted from submission; may outlast the job
  OnConflict on_conflict = OnConflict::kReturn;
  // kDebounce: a waiting job starts at most this long after its first submission.
  std::optional<Duration> max_wait = {};
  // kDebounce: a successor has taken the running job's key. The job does not wait again.
  bool superseded = false;
  friend bool operator==(const UniqueRule&, const UniqueRule&) = default;
};

struct JobError {
  SharedBytes type;
  SharedBytes message;
  SharedBytes stack;  // empty: none
  std::uint64_t fingerprint =
      0;  // equal for errors that differ only in numbers, ids and quoted text
  std::uint32_t attempt = 0;
  Time at{};
  friend bool operator==(const JobError&, const JobError&) = default;
};

struct Progress {
  std::optional<double> percent;
  SharedBytes message;     // empty: none
  SharedBytes checkpoint;  // raw JSON; empty: none
  friend bool operator==(const Progress&, const Progress&) = default;
};

// The rarely used parts of a job, in one allocation that most jobs do not need.
struct JobExtras {
  std::optional<UniqueRule> unique;
  std::vector<SharedBytes> tags;
  std::vector<std::pair<SharedBytes, SharedBytes>> meta;  // in the order sent
  SharedBytes traceparent;
  SharedBytes tracestate;
  SharedBytes schedule = {};  // the name of the schedule that made the job; empty: none did
  std::optional<Time> scheduled_at = {};  // the instant of the schedule that it was made for
  std::vector<JobLimit> limits = {};      // its own, then its queue's; none twice
  SharedBytes order_key = {};  // jobs of one key of a queue run one at a time; empty: none
  bool order_passes = false;   // while it is retrying, its successors may run
  // With an order key: the job's place, which is its due time as submitted, or as last edited or
  // retried by hand. Backoff and snoozing never change it.
  std::optional<Time> place = {};
  SharedBytes fair_key = {};  // whose share of the queue it takes; empty: jobs without a key
  std::shared_ptr<const Membership> member = {};  // null: of no workflow
  friend bool operator==(const JobExtras& a, const JobExtras& b);
};

// One execution. A job carries its latest attempt; earlier ones are rows of their own.
struct Attempt {
  std::uint32_t n = 0;        // counts every start, from 1; 0: never started
  std::uint32_t attempt = 0;  // the job's `attempt` while it ran
  SharedBytes worker;
  Time started_at{};
  std::optional<Time> finished_at;
  AttemptOutcome outcome = AttemptOutcome::kRunning;
  std::shared_ptr<const JobError> error;
  friend bool operator==(const Attempt& a, const Attempt& b);
};

struct LogLine {
  std::uint32_t seq = 0;  // within the job, from 1
  std::uint32_t n = 0;    // of the attempt: every start
  std::uint32_t attempt = 0;
  Time at{};
  std::uint8_t level = 1;  // as terms::LogLevel
  SharedBytes message;
};

// A life-cycle event that no attempt records: an operator's action, an expiry.
enum class MarkKind : std::uint8_t {
  kCancelRequested,
  kCancelled,
  kExpired,
  kRetried,
  kEdited,
  kFinished
};
struct Mark {
  MarkKind kind{};
  Time at{};
  std::uint32_t attempt = 0;
  SharedBytes reason;
};

// The members that every job has from its submission. The machine keeps them in a compact slot:
// each member costs its bytes for every waiting job.
struct JobHot {
  JobId id;
  std::uint64_t ord = 0;  // order of submission within the shard, from 1
  SharedBytes queue;
  SharedBytes type;
  SharedBytes payload;  // raw JSON as sent; empty: not loaded (a null payload is the text "null")
  State state = State::kReady;
  std::int16_t priority = 0;
  std::uint32_t attempt = 0;  // starts that counted
  std::uint32_t max_attempts = 0;
  std::uint32_t crashes = 0;
  std::uint32_t generation = 1;
  std::uint64_t version = 1;
  Time created_at{};
  Time run_at{};  // when it became, or becomes, due
  bool cancel_requested = false;
  Duration lease{};
  std::shared_ptr<const RetryPolicy> retry;  // never null
  std::shared_ptr<const JobExtras> extras;   // null: all empty
};

// The members of a job that has started, has ended or has a time limit. The machine keeps this
// struct as it is, in a separate allocation, so a new member needs no code there.
struct JobCold {
  std::optional<Time> expires_at;
  std::optional<Time> finished_at;
  std::optional<Duration> timeout;
  Attempt latest;
  SharedBytes result;  // raw JSON; empty: none
  std::shared_ptr<const JobError> last_error;
  std::shared_ptr<const Progress> progress;
  SharedBytes cancel_reason;
  std::uint32_t log_lines = 0;  // lines ever written: the next line's seq - 1
  // What the running attempt cost the job's fair key, if the queue shares time fairly; otherwise 0.
  std::uint32_t charged_ms = 0;
  // The live lease, while the job runs:
  LeaseToken token = kNoToken;
  std::optional<Time> lease_expires_at;
  Duration lease_length{};  // as granted: what a heartbeat extends by
  Duration lease_given{};   // by the claim, or by the last heartbeat that extended it
  std::optional<Time> deadline;

  void end_lease() {
    token = kNoToken;
    lease_expires_at.reset();
    lease_length = lease_given = Duration{};
    deadline.reset();
  }
};

// The list of its members is in job_fields.h.
struct Job : JobHot, JobCold {
  // Compares contents, through the pointers.
  friend bool operator==(const Job& a, const Job& b);
};
static_assert(sizeof(Job) == sizeof(JobHot) + sizeof(JobCold), "a member is hot, or it is cold");

// Whether any cold member is set. A job that only waits has none.
bool has_cold(const Job& job);

// The time until which the job holds its unique key, at least; none: until it ends.
std::optional<Time> unique_hold_until(const Job& job);

}  // namespace millrace::core
