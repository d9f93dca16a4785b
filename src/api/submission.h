// Jobs as they come in. `payload`, `meta` and their like are views of the very bytes of the body:
// they live as long as it. Every decoder is a pure function of its body: it checks all of it,
// collects every fault (at most kMaxFieldErrors) and never reads past the end. `null` stands for a
// member left out, except `payload`, where it is a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/job.h"
#include "api/problem.h"

namespace millrace::api {

struct JobSubmission {
  std::optional<JobId> id;  // a UUIDv7
  std::string queue = "default";
  std::string type;
  std::string_view payload = "null";  // raw JSON, byte for byte as sent
  std::int16_t priority = 0;
  std::optional<Time> run_at;  // at most one of these two
  std::optional<Duration> delay;
  std::optional<Time> expires_at;  // at most one of these two
  std::optional<Duration> expires_in;
  std::optional<int> max_attempts;   // none: the queue's
  std::optional<RetryPolicy> retry;  // none: the queue's
  std::optional<Duration> lease;     // none: the queue's
  std::optional<Duration> timeout;
  std::optional<UniqueKey> unique;
  std::vector<std::string> tags;
  StringMap meta;
  std::string traceparent;  // empty: none
  std::string tracestate;
  // In a batch alone.
  std::string idempotency_key;  // empty: none
  std::string_view as_sent;     // with a key: the whole item
};

// An item of a batch call. An item with a fault refuses only itself; of its value only `id` then
// means anything.
template <typename T>
struct Item {
  T value;
  std::optional<Problem> fault;  // pointers relative to the item
};

struct BatchSubmission {
  bool atomic = false;  // true: every item is free of faults, else the whole was refused with
                        // pointers /jobs/N/...
  std::vector<Item<JobSubmission>> jobs;  // 1 to kMaxBatchItems, `defaults` applied
  std::string_view defaults;              // as sent; empty: none
};

Decoded<JobSubmission> decode_job(std::string_view body, const DecodeLimits& limits);
Decoded<BatchSubmission> decode_batch(std::string_view body, const DecodeLimits& limits);

// The header Idempotency-Key: 1 to 255 visible characters.
Decoded<std::string> decode_idempotency_key(std::string_view header);

// The W3C trace headers. By their specification a malformed header counts as none; a malformed
// member is a fault.
bool is_traceparent(std::string_view text);
bool is_tracestate(std::string_view text);

}  // namespace millrace::api
