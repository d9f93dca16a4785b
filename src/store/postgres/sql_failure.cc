#include "store/postgres/sql_failure.h"

#include <fmt/format.h>

#include <string_view>

namespace millrace::store {
std::unexpected<Error> to_error(const SqlFailure& failed) {
  if (failed.state.empty()) return failure(fmt::format("PostgreSQL: {}", failed.message));
  return failure(fmt::format("PostgreSQL: {} ({})", failed.message, failed.state));
}

AppendOutcome append_outcome(const SqlFailure& failed) {
  const std::string_view state = failed.state;
  // A read-only server is a standby, or is about to become one: somebody else leads, or will. What
  // stands in the log is no longer for this leader to say, and nothing is wrong with the store: so
  // this leader is deposed, and its state is loaded anew from wherever the log goes on.
  if (state == "25006") return AppendOutcome::kFenced;
  // millrace.require(): what this leader has decided rests on what the database does not have.
  if (state == "ML001") return AppendOutcome::kFenced;
  // Data or an index is corrupted, by the server's own word.
  if (state == "XX001" || state == "XX002") return AppendOutcome::kBroken;
  // The server goes down, crashed or comes up: whatever it said, it may have said after a commit.
  if (state.starts_with("57P") || state.starts_with("08")) return AppendOutcome::kUnknown;
  // Everything else the server says before it commits, so that nothing of it stands: the disk or
  // the memory is full (53), a lock or the statement took too long (55P03, 57014), the schema or a
  // right is gone (42, 3F, 28). It may be right again in a moment, or when an operator has seen to
  // it.
  return failed.not_applied ? AppendOutcome::kFailed : AppendOutcome::kUnknown;
}

}  // namespace millrace::store
