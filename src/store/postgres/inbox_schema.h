// The third migration: millrace.enqueue, millrace.finish and millrace.fence, for transactions of
// the user's own, and the tables behind them. docs/reference/postgres-schema.md describes them.
#pragma once

namespace millrace::store {

extern const char* const kInboxMigration;
extern const char* const kFencesMigration;  // the fourth

}  // namespace millrace::store
