// The contract of a call that delivers a job to a receiver: its headers, and the effect of each
// answer on the job. For the server's pushes and for `millrace work --http`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace millrace::api {

constexpr std::size_t kPushErrorBytes = 1'024;         // of an answer's body, kept in a job's error
constexpr std::int64_t kMaxRetryAfterMs = 86'400'000;  // a longer Retry-After is cut to it
constexpr std::int64_t kMinSnoozeMs = 1'000;

struct PushedJob {
  std::string_view id;
  std::string_view queue;
  std::string_view type;
  std::uint32_t attempt = 0;
  std::uint64_t token = 0;
  std::optional<Time> created_at{};  // none: unknown
  Duration timeout{};                // how long the receiver may take
  std::string_view traceparent = {};
  std::string_view tracestate = {};
  std::string_view schedule = {};  // empty: none
};
// Names in lower case. CloudEvents 1.0 in binary mode, plus the same facts for receivers that do
// not use CloudEvents.
std::vector<std::pair<std::string, std::string>> push_headers(const PushedJob& job);

struct PushAnswer {
  int status = 0;
  std::string_view retry_after = {};  // the header; empty: none
  std::string_view body = {};
  bool is_cut = false;  // the body was longer
};

enum class PushEnd : std::uint8_t {
  kSucceeded,
  kAccepted,  // the receiver will acknowledge the job with the token
  kDead,
  kDeadAndDisabled,  // the receiver wants no more calls
  kSnoozed,          // no attempt is counted
  kFailed,
};
std::string_view name_of(PushEnd end);

struct PushVerdict {
  PushEnd end{};
  std::string result = {};      // of a success, as JSON; empty: none
  Duration delay{};             // of a snooze
  std::string error_type = {};  // "http_500"
  std::string error_message = {};
};
// The verdict on the job. `now`: for a Retry-After that gives a time.
PushVerdict judge_push_answer(const PushAnswer& answer, Time now, std::size_t max_result_bytes);

}  // namespace millrace::api
