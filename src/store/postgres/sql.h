// The scripts of sql/, as CMakeLists.txt embeds them. kShard and kJournal are formats: {0} is the
// shard, {1} the table of its journal.
#pragma once

namespace millrace::store::postgres_sql {

extern const char* const kMigrations;  // the table that says which migrations were applied

// The first migration, in this order.
extern const char* const kTables;
extern const char* const kViews;
extern const char* const kInboxTables;
extern const char* const kChecks;
extern const char* const kEnqueue;
extern const char* const kFinish;
extern const char* const kSchedule;
extern const char* const kReadInbox;
extern const char* const kRights;

// The second migration, in this order.
extern const char* const kWorkflows;
extern const char* const kWorkflowInbox;

extern const char* const kShard;
extern const char* const kJournal;

}  // namespace millrace::store::postgres_sql
