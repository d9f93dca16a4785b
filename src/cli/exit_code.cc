#include "cli/exit_code.h"

namespace millrace::cli {
namespace {

int of_status(int status) {
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
      return kUsage;
    case 401:
    case 403:
      return kNotAllowed;
    case 404:
    case 410:
      return kNotFound;
    case 409:
    case 412:
      return kConflict;
    case 429:
    case 503:
      return kTryAgain;
    case 502:
    case 504:
      return kUnreachable;
    default:
      return kFailure;
  }
}

}  // namespace

int exit_code_of(const sdk::Error& error) {
  switch (error.kind) {
    case sdk::ErrorKind::kUnreachable:
    case sdk::ErrorKind::kWaitTimeout:
      return kUnreachable;
    case sdk::ErrorKind::kRefused:
      // Its status is that of an invalid request, but the conflict is with an earlier submission.
      if (error.code == "idempotency_mismatch") return kConflict;
      return of_status(error.status);
    case sdk::ErrorKind::kBadAnswer:
      return kFailure;
    case sdk::ErrorKind::kBadArgument:
      return kUsage;
    case sdk::ErrorKind::kInterrupted:
      return kInterrupted;
  }
  return kFailure;
}

}  // namespace millrace::cli
