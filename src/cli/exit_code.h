// The exit codes. Stable, since scripts rely on them.
#pragma once

#include "millrace/error.h"

namespace millrace::cli {

constexpr int kOk = 0;
constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int kNotFound = 3;
constexpr int kNotAllowed = 4;
constexpr int kConflict = 5;
constexpr int kUnreachable = 6;
constexpr int kPartlyFailed = 7;
constexpr int kDidNotSucceed = 8;  // of what `job wait` and the like awaited
constexpr int kTryAgain = 75;      // sysexits' EX_TEMPFAIL
constexpr int kBadConfiguration = 78;
constexpr int kInterrupted = 130;

int exit_code_of(const sdk::Error& error);

}  // namespace millrace::cli
