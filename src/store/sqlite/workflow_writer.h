// Writes the workflows of jobs.db, as a part of a flush.
#pragma once

#include <string>

#include "base/result.h"
#include "core/changes.h"
#include "store/sqlite/database.h"

namespace millrace::store {

class WorkflowWriter {
 public:
  explicit WorkflowWriter(Database& database);

  // Within the flush's transaction.
  Status write(const core::Changes& changes);

 private:
  bool put(const core::Workflow& workflow);

  Database& database_;
  Statement delete_record_, delete_chunks_, delete_pages_;
  Statement upsert_record_, upsert_chunk_, upsert_page_;
  std::string buffer_;
};

}  // namespace millrace::store
