// Decoding of submissions. `payload`, `meta` and the like are views of the body's bytes, valid as
// long as the body. Every decoder is a pure function of its body: it checks all of it, collects
// every fault (at most kMaxFieldErrors) and never reads past the end. `null` means the same as an
// absent member, except in `payload`, where it is a value.
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
  std::vector<JobLimit> limits;
  std::string order_key;  // empty: none
  OrderOnFailure order_on_failure = OrderOnFailure::kHold;
  std::string fair_key;     // empty: none
  std::string traceparent;  // empty: none
  std::string tracestate;
  // Only in a batch:
  std::string idempotency_key;  // empty: none
  std::string_view as_sent;     // with a key: the whole item
};

// An item of a batch call. A fault refuses only its own item; of the item's value only `id` is then
// valid.
template <typename T>
struct Item {
  T value;
  std::optional<Problem> fault;  // pointers relative to the item
};

struct BatchSubmission {
  bool atomic = false;                    // true: a faulty item refuses the whole batch, with
                                          // pointers /jobs/N/...
  std::vector<Item<JobSubmission>> jobs;  // 1 to kMaxBatchItems, `defaults` applied
  std::string_view defaults;              // as sent; empty: none
};

Decoded<JobSubmission> decode_job(std::string_view body, const DecodeLimits& limits);
Decoded<BatchSubmission> decode_batch(std::string_view body, const DecodeLimits& limits);

// The header Idempotency-Key: 1 to 255 visible characters.
Decoded<std::string> decode_idempotency_key(std::string_view header);

// The W3C trace headers. By their specification a malformed header is ignored; a malformed member
// is a fault.
bool is_traceparent(std::string_view text);
bool is_tracestate(std::string_view text);

}  // namespace millrace::api
