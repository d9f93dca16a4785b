// The scripts of sql/, as CMakeLists.txt embeds them: the first format of each file.
#pragma once

namespace millrace::store::sqlite_sql {

extern const char* const kJournal;
extern const char* const kTables;

}  // namespace millrace::store::sqlite_sql
