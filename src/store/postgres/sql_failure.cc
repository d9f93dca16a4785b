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
  // A read-only server is a standby, or is about to become one: another leader exists or will
  // exist. This leader no longer determines the log's content, but nothing is wrong with the store.
  // So it is deposed, and its state is loaded again from wherever the log continues.
  if (state == "25006") return AppendOutcome::kFenced;
  // millrace.require(): a precondition of this leader's decisions does not hold in the database.
  if (state == "ML001") return AppendOutcome::kFenced;
  // The server itself reports that data or an index is corrupted.
  if (state == "XX001" || state == "XX002") return AppendOutcome::kBroken;
  // The server is going down, has crashed or is starting: it may have committed before it said so.
  if (state.starts_with("57P") || state.starts_with("08")) return AppendOutcome::kUnknown;
  // Every other error is reported before the commit, so the transaction has no effect: the disk or
  // the memory is full (53), a lock or the statement took too long (55P03, 57014), the schema or a
  // right is gone (42, 3F, 28). It may be resolved in a moment, or when an operator has acted.
  return failed.not_applied ? AppendOutcome::kFailed : AppendOutcome::kUnknown;
}

}  // namespace millrace::store
