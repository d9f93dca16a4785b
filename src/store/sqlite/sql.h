// The scripts of sql/, as CMakeLists.txt embeds them.
#pragma once

namespace millrace::store::sqlite_sql {

extern const char* const kJournal;
extern const char* const kTables;
extern const char* const kWorkflows;  // format 2 of the tables

}  // namespace millrace::store::sqlite_sql
