// Limits: their settings, decoded and encoded, their use, and the reasons why a job is not running.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job.h"
#include "api/list.h"
#include "api/problem.h"
#include "api/queue.h"
#include "base/json_writer.h"

namespace millrace::api {

// Bounds of one key or gate; none: no bound.
struct Bounds {
  std::optional<std::int64_t> concurrency;
  std::optional<Rate> rate;
};
struct KeyBounds {
  std::string key;
  Bounds bounds;
};

// PUT and PATCH /v1/limits/{name}, PUT /v1/types/{type}. Absent members get their defaults with
// PUT, and stay unchanged with PATCH; null means the default. `per_key` and `keys` apply only to
// named limits, `paused` and `pause_reason` only to types.
struct LimitChange {
  Change<std::int64_t> concurrency;  // null: no bound
  Change<Rate> rate;                 // null: no bound
  Change<BreakerRule> breaker;       // null: none
  Change<Rate> retry_rate;           // null: no bound
  Change<bool> per_key;
  Change<std::vector<KeyBounds>> keys;
  Change<bool> paused;
  std::string pause_reason;
};
Decoded<LimitChange> decode_limit(std::string_view body, const DecodeLimits& limits);
Decoded<LimitChange> decode_type(std::string_view body, const DecodeLimits& limits);

// POST /v1/limits/{name}/pause and .../resume.
struct LimitPause {
  std::string reason;
  std::optional<Duration> length;  // none: until a user resumes it
  std::string key;                 // empty: the whole limit
};
Decoded<LimitPause> decode_limit_pause(std::string_view body, const DecodeLimits& limits);
struct LimitResume {
  std::string key;  // empty: the whole limit
};
Decoded<LimitResume> decode_limit_resume(std::string_view body, const DecodeLimits& limits);

// DELETE: whether to free the jobs that name the limit.
struct DeleteLimitQuery {
  bool force = false;
};
Decoded<DeleteLimitQuery> decode_delete_limit_query(std::string_view query_string);

// GET /v1/limits/{name}/keys and .../holders.
struct LimitKeysQuery {
  std::int64_t limit = kDefaultListLimit;
  std::string cursor;
  bool by_waiting = false;  // the keys with the most waiting jobs
};
Decoded<LimitKeysQuery> decode_limit_keys_query(std::string_view query_string);
struct LimitHoldersQuery {
  std::int64_t limit = kDefaultListLimit;
  std::string cursor;
  std::string key;  // empty: of all keys
};
Decoded<LimitHoldersQuery> decode_limit_holders_query(std::string_view query_string);

// Views as in job.h.
struct GateUse {
  std::uint64_t in_use = 0;
  std::uint64_t waiting = 0;
  std::optional<Time> next_token_at;
  bool paused = false;
  std::string_view pause_reason;     // empty: null
  std::optional<Time> paused_until;  // none: until a user resumes it
  std::string_view breaker_state;    // empty: null
  std::optional<Time> open_until;
  std::optional<Time> blocked_until;  // the end of a pause or of a worker's slowdown
};
struct Limit {
  std::string_view name;
  bool of_type = false;  // a type's gate: it has no keys
  Bounds bounds;
  std::optional<BreakerRule> breaker;
  std::optional<Rate> retry_rate;
  bool per_key = false;
  std::vector<KeyBounds> keys;
  std::uint64_t version = 0;
  GateUse use;
};
void encode(JsonWriter& json, const Limit& limit);

struct LimitKey {
  std::string_view key;
  GateUse use;
};
void encode(JsonWriter& json, const LimitKey& key);

struct LimitHolder {
  JobId job;
  std::string_view key;  // empty: null
  std::string_view worker;
  Time since{};
};
void encode(JsonWriter& json, const LimitHolder& holder);

}  // namespace millrace::api
