// The contract of a call that carries a job to a receiver: which headers say what, and what each
// answer makes of the job. For the server's pushes and for `millrace work --http`.
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

constexpr std::size_t kPushErrorBytes = 1'024;         // of an answer's body in a job's error
constexpr std::int64_t kMaxRetryAfterMs = 86'400'000;  // a longer Retry-After is cut to it
constexpr std::int64_t kMinSnoozeMs = 1'000;

struct PushedJob {
  std::string_view id;
  std::string_view queue;
  std::string_view type;
  std::uint32_t attempt = 0;
  std::uint64_t token = 0;
  std::optional<Time> created_at{};  // none: not known
  Duration timeout{};                // how long the receiver has
  std::string_view traceparent = {};
  std::string_view tracestate = {};
  std::string_view schedule = {};  // empty: none
};
// Names in lower case. CloudEvents 1.0 in binary mode, and the same facts once more for those who
// do not know CloudEvents.
std::vector<std::pair<std::string, std::string>> push_headers(const PushedJob& job);

struct PushAnswer {
  int status = 0;
  std::string_view retry_after = {};  // the header; empty: none
  std::string_view body = {};
  bool is_cut = false;  // the body is longer
};

enum class PushEnd : std::uint8_t {
  kSucceeded,
  kAccepted,  // whoever took it acknowledges it with the token
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
// What becomes of the job. `now`: for a Retry-After that names a time.
PushVerdict judge_push_answer(const PushAnswer& answer, Time now, std::size_t max_result_bytes);

}  // namespace millrace::api
