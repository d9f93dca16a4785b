// What PostgreSQL, or the way to it, answered instead of doing what was asked.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/journal.h"

namespace millrace::store {

struct SqlFailure {
  std::string state;    // SQLSTATE; empty: no word from the server (the connection, a deadline)
  std::string message;  // for the log
  // The transaction was not committed, for certain: nothing of it was sent, or the server said so
  // while it was still open.
  bool not_applied = false;
  bool rows_seen = false;  // a visitor has had some before it failed
};

std::unexpected<Error> to_error(const SqlFailure& failed);

// What a failed append means for its row.
AppendOutcome append_outcome(const SqlFailure& failed);

// Raised by millrace.require(): what the transaction rests on does not hold.
inline constexpr const char* kRequirementState = "ML001";

}  // namespace millrace::store
