// The errors of calls to a Millrace server.
//
// The structures of this library are designed for designated initialisers. Every member has `{}`,
// so that omitting one causes no compiler warning.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::sdk {

// How a call failed.
enum class ErrorKind {
  kUnreachable,  // no answer: connection refused or lost, timeout; the call may have taken effect
  kRefused,      // the server answered with a problem; see `status` and `code`
  kBadAnswer,    // the answer is not Millrace's but, for example, a proxy's
  kBadArgument,  // not sent: the call is invalid, for example its URL
  kInterrupted,  // the caller's stop token was triggered
  kWaitTimeout,  // Client::wait, Client::wait_workflow: it has not ended yet
};

// The cases that a program may want to distinguish; see Error::problem().
enum class Problem : std::uint8_t {
  kOther,
  kNotFound,
  kValidationFailed,
  kDuplicateJob,
  kDuplicateWorkflow,
  kIdMismatch,
  kIdempotencyMismatch,
  kInvalidState,
  kLeaseLost,
  kVersionConflict,
  kQueueFull,
  kKeyFull,
  kRateLimited,
  kUnauthenticated,
  kForbidden,
  kPayloadTooLarge,
  kUnavailable,  // 503 of any code
  kUnreachable,  // no answer
  kWaitTimeout,
};

// One fault of a refused request. `where` is a JSON Pointer into its body, or the name of a
// parameter or header.
struct FieldError {
  std::string where{};
  std::string detail{};
};

struct Error {
  ErrorKind kind = ErrorKind::kBadAnswer;
  int status = 0;  // HTTP status of a refusal or of a bad answer
  // The stable code of a refusal, such as "lease_lost"; otherwise "unreachable", "bad_answer",
  // "bad_argument", "interrupted" or "wait_timeout".
  std::string code{};
  std::string message{};  // one sentence for a person
  std::vector<FieldError> errors{};
  std::string request_id{};
  std::optional<std::chrono::milliseconds> retry_after{};
  std::string json{};      // the problem as the server sent it
  bool is_unsent = false;  // with kUnreachable: never connected, so nothing was done
  // With kUnreachable: the server's certificate is not trusted, or the client's can't be used.
  bool is_untrusted = false;

  // Whether the same call may succeed later: the server was down, busy or stopping.
  bool is_temporary() const {
    const bool is_away = kind == ErrorKind::kUnreachable && !is_untrusted;
    return is_away || status == 429 || status == 502 || status == 503 || status == 504;
  }

  Problem problem() const;
};

// "NotFound", "Unreachable"; for kOther: "MillraceError".
std::string_view name_of(Problem problem);

template <typename T>
using Result = std::expected<T, Error>;

// "message (pointer: detail; pointer: detail)", on one line.
std::string describe(const Error& error);

}  // namespace millrace::sdk
