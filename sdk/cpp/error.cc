#include "millrace/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "millrace/exceptions.h"

namespace millrace::sdk {
namespace {

struct Named {
  Problem problem;
  std::string_view name;
  std::string_view code;  // the server's; empty: several or none
};

constexpr std::array kProblems = {
    Named{Problem::kOther, "MillraceError", ""},
    Named{Problem::kNotFound, "NotFound", "not_found"},
    Named{Problem::kValidationFailed, "ValidationFailed", "validation_failed"},
    Named{Problem::kDuplicateJob, "DuplicateJob", "duplicate_job"},
    Named{Problem::kDuplicateWorkflow, "DuplicateWorkflow", "duplicate_workflow"},
    Named{Problem::kIdMismatch, "IdMismatch", "id_mismatch"},
    Named{Problem::kIdempotencyMismatch, "IdempotencyMismatch", "idempotency_mismatch"},
    Named{Problem::kInvalidState, "InvalidState", "invalid_state"},
    Named{Problem::kLeaseLost, "LeaseLost", "lease_lost"},
    Named{Problem::kVersionConflict, "VersionConflict", "version_conflict"},
    Named{Problem::kQueueFull, "QueueFull", "queue_full"},
    Named{Problem::kKeyFull, "KeyFull", "key_full"},
    Named{Problem::kRateLimited, "RateLimited", "rate_limited"},
    Named{Problem::kUnauthenticated, "Unauthenticated", "unauthenticated"},
    Named{Problem::kForbidden, "Forbidden", "forbidden"},
    Named{Problem::kPayloadTooLarge, "PayloadTooLarge", "payload_too_large"},
    Named{Problem::kUnavailable, "Unavailable", ""},
    Named{Problem::kUnreachable, "Unreachable", "unreachable"},
    Named{Problem::kWaitTimeout, "WaitTimeout", "wait_timeout"},
};

template <Problem problem>
[[noreturn]] void throw_as(Error error) {
  throw ProblemError<problem>(std::move(error));
}

}  // namespace

Problem Error::problem() const {
  if (kind == ErrorKind::kUnreachable) return Problem::kUnreachable;
  if (status == 503) return Problem::kUnavailable;
  if (code.empty()) return Problem::kOther;
  const auto* const found = std::ranges::find(kProblems, std::string_view(code), &Named::code);
  return found == kProblems.end() ? Problem::kOther : found->problem;
}

std::string_view name_of(Problem problem) {
  return std::ranges::find(kProblems, problem, &Named::problem)->name;
}

std::string describe(const Error& error) {
  std::string text = error.message;
  if (error.errors.empty()) return text;
  std::string faults;
  for (const FieldError& fault : error.errors) {
    if (!faults.empty()) faults += "; ";
    faults += fault.where.empty() ? fault.detail : fault.where + ": " + fault.detail;
  }
  return fmt::format("{} ({})", text, faults);
}

void throw_error(Error error) {
  switch (error.problem()) {
    case Problem::kOther:
      throw MillraceError(std::move(error));
    case Problem::kNotFound:
      throw_as<Problem::kNotFound>(std::move(error));
    case Problem::kValidationFailed:
      throw_as<Problem::kValidationFailed>(std::move(error));
    case Problem::kDuplicateJob:
      throw_as<Problem::kDuplicateJob>(std::move(error));
    case Problem::kDuplicateWorkflow:
      throw_as<Problem::kDuplicateWorkflow>(std::move(error));
    case Problem::kIdMismatch:
      throw_as<Problem::kIdMismatch>(std::move(error));
    case Problem::kIdempotencyMismatch:
      throw_as<Problem::kIdempotencyMismatch>(std::move(error));
    case Problem::kInvalidState:
      throw_as<Problem::kInvalidState>(std::move(error));
    case Problem::kLeaseLost:
      throw_as<Problem::kLeaseLost>(std::move(error));
    case Problem::kVersionConflict:
      throw_as<Problem::kVersionConflict>(std::move(error));
    case Problem::kQueueFull:
      throw_as<Problem::kQueueFull>(std::move(error));
    case Problem::kKeyFull:
      throw_as<Problem::kKeyFull>(std::move(error));
    case Problem::kRateLimited:
      throw_as<Problem::kRateLimited>(std::move(error));
    case Problem::kUnauthenticated:
      throw_as<Problem::kUnauthenticated>(std::move(error));
    case Problem::kForbidden:
      throw_as<Problem::kForbidden>(std::move(error));
    case Problem::kPayloadTooLarge:
      throw_as<Problem::kPayloadTooLarge>(std::move(error));
    case Problem::kUnavailable:
      throw_as<Problem::kUnavailable>(std::move(error));
    case Problem::kUnreachable:
      throw_as<Problem::kUnreachable>(std::move(error));
    case Problem::kWaitTimeout:
      throw_as<Problem::kWaitTimeout>(std::move(error));
  }
  throw MillraceError(std::move(error));
}

}  // namespace millrace::sdk
