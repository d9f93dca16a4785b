// What a call to a Millrace server can come back with instead of an answer.
//
// Structures of this library are made for designated initialisers; every member has its `{}`, so
// that those left out raise no compiler warning.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace millrace::sdk {

enum class ErrorKind {
  kUnreachable,  // no answer: refused connection, lost connection, timeout; the call may have had
                 // its effect
  kRefused,      // the server answered with a problem: `status` and `code` say which
  kBadAnswer,    // an answer that is not Millrace's, as from a proxy between
  kBadArgument,  // not sent: the call itself makes no sense, as a malformed address
  kInterrupted,  // the caller's stop token was triggered
};

// One fault of a refused request: a JSON Pointer into its body, or the name of a parameter or
// header.
struct FieldError {
  std::string where{};
  std::string detail{};
};

struct Error {
  ErrorKind kind = ErrorKind::kBadAnswer;
  int status = 0;         // HTTP status of a refusal, or of a bad answer
  std::string code{};     // the stable code of a refusal, as "lease_lost"
  std::string message{};  // one sentence for a person
  std::vector<FieldError> errors{};
  std::string request_id{};
  std::optional<std::chrono::milliseconds> retry_after{};
  std::string json{};  // the problem as the server sent it

  // Whether the same call may succeed later: the server was away, busy or about to stop.
  bool is_temporary() const {
    return kind == ErrorKind::kUnreachable || status == 429 || status == 502 || status == 503 ||
           status == 504;
  }
};

template <typename T>
using Result = std::expected<T, Error>;

// "message (pointer: detail; pointer: detail)", in one line.
std::string describe(const Error& error);

}  // namespace millrace::sdk
