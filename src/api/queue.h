// Queues: their settings, decoded and encoded, their state, pause and purge.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/bounds.h"
#include "api/job.h"
#include "api/problem.h"
#include "api/why.h"

namespace millrace::api {

// A member that may be absent, null or a value: three distinct requests in a change.
template <typename T>
struct Change {
  bool present = false;
  std::optional<T> value;  // none, though present: null
};

struct RetentionChange {
  Change<Duration> succeeded;  // null: for ever
  Change<Duration> dead;
  Change<Duration> cancelled;
  Change<Duration> expired;
};

using terms::FairBy;
struct FairSettings {
  std::vector<std::pair<std::string, std::int64_t>>
      weights;  // by fair key; "": for jobs without one
  std::int64_t default_weight = 1;
  FairBy by = FairBy::kTime;
};

// PUT and PATCH /v1/queues/{name}. Absent members get their defaults with PUT, and stay unchanged
// with PATCH. null means the default, except for `max_ready` (no bound) and retention times (for
// ever).
struct QueueSettingsChange {
  Change<int> max_attempts;
  Change<int> max_crashes;
  Change<RetryPolicy> retry;
  Change<Duration> lease;
  Change<std::int64_t> max_ready;
  Change<RetentionChange> retention;  // null: the defaults
  Change<std::int64_t> concurrency;   // null: no bound; likewise the rate
  Change<Rate> rate;
  Change<BreakerRule> breaker;             // null: none
  Change<std::vector<JobLimit>> limits;    // null: none
  Change<FairSettings> fair;               // null: keys have no effect
  Change<Duration> ageing;                 // null: priorities are strict
  Change<std::int64_t> max_ready_per_key;  // null: no bound
};
Decoded<QueueSettingsChange> decode_queue_settings(std::string_view body,
                                                   const DecodeLimits& limits);

struct Pause {
  std::string reason;
};
Decoded<Pause> decode_pause(std::string_view body, const DecodeLimits& limits);

// PATCH and pause: whether to create the queue if it does not exist.
struct QueueQuery {
  bool create = false;
};
Decoded<QueueQuery> decode_queue_query(std::string_view query_string);

// DELETE: whether to delete the queue's jobs too.
struct DeleteQueueQuery {
  bool force = false;
};
Decoded<DeleteQueueQuery> decode_delete_queue_query(std::string_view query_string);

// GET /v1/queues/{name}/shares.
struct SharesQuery {
  std::int64_t limit = kDefaultListLimit;
  std::string cursor;
  bool by_waiting = false;  // the keys with the most waiting jobs
};
Decoded<SharesQuery> decode_shares_query(std::string_view query_string);
struct Share {
  std::string_view key;  // empty: the jobs without a fair key
  std::int64_t weight = 1;
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;  // ready jobs
  double share = 0;           // of the service that the queue gave in the last minute, 0 to 1
};
void encode(JsonWriter& json, const Share& share);

struct Purge {
  std::vector<JobState> states;  // never empty, never kRunning; by default the waiting states
  bool operation = false;        // continues after the answer
};
Decoded<Purge> decode_purge(std::string_view body, const DecodeLimits& limits);
void encode_purged(JsonWriter& json, std::int64_t deleted);  // {"deleted": n}

struct QueueSettings {
  std::int64_t max_attempts = 5;
  std::optional<std::int64_t> max_crashes;  // none: the job's max_attempts
  RetryPolicy retry;
  Duration lease{30'000};
  std::optional<std::int64_t> max_ready;  // none: no bound
  std::optional<std::int64_t> concurrency;
  std::optional<Rate> rate;
  std::optional<BreakerRule> breaker;
  std::vector<JobLimit> limits;
  std::optional<FairSettings> fair;
  std::optional<Duration> ageing;
  std::optional<std::int64_t> max_ready_per_key;
  struct Retention {
    std::optional<Duration> succeeded{86'400'000};  // none: for ever
    std::optional<Duration> dead{2'592'000'000};
    std::optional<Duration> cancelled{86'400'000};
    std::optional<Duration> expired{86'400'000};
  } retention;
};
void encode(JsonWriter& json, const QueueSettings& settings);

// Views as in job.h.
struct Queue {
  std::string_view name;
  bool paused = false;
  std::string_view pause_reason;                  // empty: null
  std::array<std::int64_t, kJobStates> counts{};  // by JobState
  std::optional<Duration> oldest_ready_age;
  struct Rates {  // over the last 60 s
    double submitted_per_s = 0;
    double started_per_s = 0;
    double succeeded_per_s = 0;
    double failed_per_s = 0;
  } rates;
  QueueSettings settings;
  std::uint64_t version = 0;
  std::optional<std::vector<Reason>> blocked_by;  // GET of one queue
};
void encode(JsonWriter& json, const Queue& queue);

// GET /v1/queues/{name}/scale.
struct ScaleQuery {
  Duration target_wait{10'000};
  std::int64_t slots = 10;  // of each worker
};
Decoded<ScaleQuery> decode_scale_query(std::string_view query_string);
struct Scale {
  std::int64_t desired_workers = 0;
  std::string because;
  std::int64_t desired_slots = 0;
  std::int64_t ready = 0;
  std::int64_t held_back = 0;
  std::int64_t running = 0;
  std::optional<Duration> run;  // the mean; none: no recently ended attempt
};
void encode(JsonWriter& json, const Scale& scale);

}  // namespace millrace::api
