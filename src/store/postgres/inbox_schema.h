// The third migration: the functions millrace.enqueue, millrace.finish and millrace.fence for
// users' own transactions, and the tables behind them. docs/reference/postgres-schema.md describes
// them.
#pragma once

namespace millrace::store {

extern const char* const kInboxMigration;
extern const char* const kFencesMigration;         // the fourth
extern const char* const kScheduleCallsMigration;  // the sixth

}  // namespace millrace::store
