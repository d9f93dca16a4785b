// Exceptions, for programs that prefer them. This library's calls do not throw; value_of() turns a
// call's error into the corresponding exception.
//
//   auto job = value_of(client.get(id));  // throws NotFound, Unreachable ...
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "millrace/error.h"

namespace millrace::sdk {

// The base class; what() is describe(error()).
class MillraceError : public std::runtime_error {
 public:
  explicit MillraceError(Error error)
      : std::runtime_error(describe(error)), error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

template <Problem problem>
class ProblemError : public MillraceError {
 public:
  using MillraceError::MillraceError;
};

using NotFound = ProblemError<Problem::kNotFound>;
using ValidationFailed = ProblemError<Problem::kValidationFailed>;
using DuplicateJob = ProblemError<Problem::kDuplicateJob>;
using DuplicateWorkflow = ProblemError<Problem::kDuplicateWorkflow>;
using IdMismatch = ProblemError<Problem::kIdMismatch>;
using IdempotencyMismatch = ProblemError<Problem::kIdempotencyMismatch>;
using InvalidState = ProblemError<Problem::kInvalidState>;
using LeaseLost = ProblemError<Problem::kLeaseLost>;
using VersionConflict = ProblemError<Problem::kVersionConflict>;
using QueueFull = ProblemError<Problem::kQueueFull>;
using KeyFull = ProblemError<Problem::kKeyFull>;
using RateLimited = ProblemError<Problem::kRateLimited>;
using Unauthenticated = ProblemError<Problem::kUnauthenticated>;
using Forbidden = ProblemError<Problem::kForbidden>;
using PayloadTooLarge = ProblemError<Problem::kPayloadTooLarge>;
using Unavailable = ProblemError<Problem::kUnavailable>;
using Unreachable = ProblemError<Problem::kUnreachable>;
using WaitTimeout = ProblemError<Problem::kWaitTimeout>;

// Throws the exception class of `error`.
[[noreturn]] void throw_error(Error error);

// The value of a call; throws its error.
template <typename T>
T value_of(Result<T> result) {
  if (!result) throw_error(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace millrace::sdk
