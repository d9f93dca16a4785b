// Push targets: receivers that the server calls for each job of some queues. Their settings,
// decoded, and encoded without secrets, and their health.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/job.h"
#include "api/problem.h"
#include "base/ids.h"
#include "base/time.h"

namespace millrace::api {

constexpr std::int64_t kMaxPushConcurrency = 500;  // calls at a time to one target
constexpr std::int64_t kDefaultPushConcurrency = 10;
constexpr std::int64_t kMinPushTimeoutMs = 100;
constexpr std::int64_t kMaxPushTimeoutMs = 600'000;
constexpr std::int64_t kDefaultPushTimeoutMs = 30'000;
constexpr std::size_t kMaxPushHeaders = 32;
constexpr std::size_t kMaxPushHeaderBytes = 8 * 1024;  // of all names and values
constexpr std::size_t kMaxPushUrlBytes = 2'048;
constexpr std::size_t kMaxPushSecrets = 2;  // two while one replaces the other

struct PushTarget {
  std::string url;
  StringMap headers;                 // sent with each call; names in lower case
  std::vector<std::string> secrets;  // "whsec_...", newest first; empty: no signatures
  std::int64_t concurrency = kDefaultPushConcurrency;
  Duration timeout{kDefaultPushTimeoutMs};
  std::vector<std::string> queues;
  std::vector<std::string> types;  // empty: any
  bool paused = false;
  std::string pause_reason;  // empty: none
};

// PUT /v1/push-targets/{name}. Absent write-only members stay unchanged.
struct PutPushTarget {
  PushTarget target;
  bool has_headers = false;
  bool has_secrets = false;
  bool has_paused = false;
};
Decoded<PutPushTarget> decode_push_target(std::string_view body, const DecodeLimits& limits);

// The stored form, including secrets, and its decoder.
std::string stored_push_target(const PushTarget& target);
std::optional<PushTarget> read_stored_push_target(std::string_view stored);

// Why a header must not be set; empty: it may.
std::string fault_of_push_header(std::string_view lower_name, std::string_view value);

struct PushOutcome {
  Time at{};
  JobId job{};
  std::string_view outcome{};  // "succeeded", "accepted", "dead", "snoozed", "failed", "cancelled"
  int status = 0;              // of HTTP; 0: no answer
  Duration took{};
  std::string error{};  // empty: null
};
struct PushHealth {
  std::string_view breaker{};  // "closed", "open", "half_open"
  int failures_in_a_row = 0;
  std::optional<Duration>
      calls_again_in{};             // while the breaker is open, or the receiver asked for it
  std::int64_t running = 0;         // pending calls
  std::int64_t held_elsewhere = 0;  // calls of the former node that may still be running
  std::uint64_t succeeded = 0, accepted = 0, dead = 0, snoozed = 0, failed = 0, cancelled = 0;
  std::optional<double> p50_ms{}, p95_ms{}, p99_ms{};  // of the last minutes
  std::vector<PushOutcome> last{};                     // newest first
};

// Encodes the settings as an object without secrets.
void encode_settings(JsonWriter& json, const PushTarget& target);

struct PushTargetView {
  std::string_view name{};
  const PushTarget* target = nullptr;
  std::uint64_t version = 0;
  Time created_at{};
  Time updated_at{};
  const PushHealth* health = nullptr;  // null: another node serves the targets, or none does yet
  std::string_view served_by{};        // that node's URL; empty: null
};
void encode(JsonWriter& json, const PushTargetView& view);

// The outcome of a test call to a target.
struct PushTestResult {
  int status = 0;
  Duration took{};
  std::string error{};  // empty: null; the receiver answered with 2xx
};
void encode(JsonWriter& json, const PushTestResult& result);

}  // namespace millrace::api
