// The failure of a transaction, as reported by PostgreSQL or by the connection to it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/journal.h"

namespace millrace::store {

struct SqlFailure {
  std::string state;    // SQLSTATE; empty: not from the server (the connection, a deadline)
  std::string message;  // for the log
  // The transaction was certainly not committed: nothing of it was sent, or the server said so
  // while it was still open.
  bool not_applied = false;
  bool rows_seen = false;  // a visitor has received rows before the failure
};

std::unexpected<Error> to_error(const SqlFailure& failed);

// The outcome of an append that failed in this way.
AppendOutcome append_outcome(const SqlFailure& failed);

// Raised by millrace.require(): a precondition of the transaction does not hold.
inline constexpr const char* kRequirementState = "ML001";

}  // namespace millrace::store
