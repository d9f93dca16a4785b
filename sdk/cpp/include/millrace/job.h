// Jobs: what a producer submits, and what the server reports about them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/error.h"

namespace millrace::sdk {

using Milliseconds = std::chrono::milliseconds;
using Timestamp = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC

// RFC 3339 in UTC with milliseconds: 2026-03-01T09:30:00.000Z.
std::string write_time(Timestamp time);
// Any offset; none: `text` is not RFC 3339.
std::optional<Timestamp> read_time(std::string_view text);

using Meta = std::vector<std::pair<std::string, std::string>>;

// The pause before each further attempt. Unset members get the server's defaults.
struct RetryPolicy {
  std::string strategy{};  // "exponential", "linear", "fixed", "list"
  std::optional<Milliseconds> base{};
  std::optional<Milliseconds> max{};
  std::optional<double> jitter{};      // 0 to 1, a share of the delay
  std::vector<Milliseconds> delays{};  // for "list"
};

// At most one job of the queue has a given key while that job is unfinished, and for `hold` after
// its submission.
struct Unique {
  std::string key{};
  std::optional<Milliseconds> hold{};
  std::string on_conflict{};  // "return", "reject", "replace", "debounce"; empty: return
  std::optional<Milliseconds> max_wait{};  // with "debounce": since the first submission
};

// A limit that the job must pass to start. `key`: where the limit counts by key. `cost`: of a
// start, against the limit's rate.
struct JobLimit {
  std::string name{};
  std::string key{};
  std::optional<std::int64_t> cost{};
};

// A job to submit. Only `type` is required; the server's defaults apply to empty and unset members.
struct NewJob {
  std::string type{};
  std::string payload = "null";  // raw JSON
  std::string queue{};
  std::optional<int> priority{};  // lower runs first
  std::optional<Timestamp> run_at{};
  std::optional<Milliseconds> delay{};
  std::optional<Timestamp> expires_at{};
  std::optional<Milliseconds> expires_in{};
  std::optional<int> max_attempts{};
  std::optional<RetryPolicy> retry{};
  std::optional<Milliseconds> lease{};
  std::optional<Milliseconds> timeout{};
  std::optional<Unique> unique{};
  std::vector<std::string> tags{};
  Meta meta{};
  std::vector<JobLimit> limits{};  // at most 8, those of the queue included
  // Jobs of one key of a queue run one at a time, in order; empty: none.
  std::string order_key{};
  std::string order_on_failure{};  // "hold", "pass"; empty: hold
  // Whose share of the queue the job takes, where the queue shares fairly; empty: none's.
  std::string fair_key{};
  std::string id{};                // a UUIDv7; if empty, Client::submit makes one
  std::string idempotency_key{};   // not in Context::enqueue
  // The W3C trace context; if empty, that of the handler that submits, see also
  // ClientOptions::traceparent.
  std::string traceparent{};
  std::string tracestate{};
};

struct JobError {
  std::string type{};
  std::string message{};
  std::string stack{};
  int attempt = 0;
  std::optional<Timestamp> at{};
};

struct Progress {
  std::optional<double> percent{};
  std::string message{};
};

struct LogLine {
  std::int64_t seq = 0;
  int attempt = 0;
  std::optional<Timestamp> at{};
  std::string level{};
  std::string message{};
  std::string json{};  // as the server sent it
};

// One start of a job and its result.
struct Attempt {
  int n = 0;  // counts every start, from 1
  int attempt = 0;
  std::string worker{};
  std::optional<Timestamp> started_at{};
  std::optional<Timestamp> finished_at{};
  std::string outcome{};
  std::optional<JobError> error{};
};

// The schedule that made a job, and the instant that it made it for.
struct JobSchedule {
  std::string name{};
  std::optional<Timestamp> scheduled_at{};
};

// A job as the server describes it. Where the server says null, text members are empty and times
// are unset.
struct Job {
  std::string id{};
  std::string queue{};
  std::string type{};
  std::string state{};
  int priority = 0;
  int attempt = 0;
  int max_attempts = 0;
  int crashes = 0;
  std::int64_t generation = 0;
  std::int64_t version = 0;
  std::optional<Timestamp> created_at{};
  std::optional<Timestamp> run_at{};
  std::optional<Timestamp> expires_at{};
  std::optional<Timestamp> started_at{};
  std::optional<Timestamp> finished_at{};
  std::optional<Timestamp> lease_expires_at{};
  std::string worker{};
  bool cancel_requested = false;
  std::optional<Progress> progress{};
  std::optional<JobError> last_error{};
  std::vector<std::string> tags{};
  Meta meta{};
  std::optional<std::string> payload{};  // raw JSON; only if requested
  std::optional<std::string> result{};
  std::vector<Attempt> attempts{};  // oldest first; only if requested
  std::optional<JobSchedule> schedule{};
  std::string json{};  // the complete object as the server sent it

  // succeeded, dead, cancelled, expired; or pruned: already removed, and known only by its key
  bool is_final() const {
    return state == "succeeded" || state == "dead" || state == "cancelled" || state == "expired" ||
           state == "pruned";
  }
};

struct Submitted {
  Job job{};
  bool is_new = true;  // false: it existed already, by its id, idempotency key or unique key
};

// The result of one job of a batch; `error` is set if it was refused.
struct BatchItem {
  int status = 0;
  std::string id{};
  std::string state{};
  std::optional<Error> error{};
};

struct Batch {
  std::vector<BatchItem> items{};  // in the order of the request
  std::string json{};
};

// Which jobs to list. Empty members do not filter.
struct JobFilter {
  std::vector<std::string> states{};
  std::string queue{};
  std::string type{};
  std::string tag{};
  std::optional<Timestamp> created_after{};
  std::optional<Timestamp> created_before{};
  std::string query{};                 // the expression of `q`: "state:dead error~timeout"
  std::vector<std::string> include{};  // "payload", "result"
  bool fresh = false;                  // wait until the list holds everything acknowledged so far
  int limit = 50;                      // of one page, 1 to 1,000
  std::string cursor{};                // `next_cursor` of the page before
};

// One page of a list; an empty `next_cursor` means that there are no more.
template <typename Item>
struct Page {
  std::vector<Item> items{};
  std::string next_cursor{};
};

}  // namespace millrace::sdk
