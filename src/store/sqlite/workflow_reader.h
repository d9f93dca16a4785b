// Reads the workflows of jobs.db.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "store/sqlite/database.h"
#include "store/sqlite/search.h"
#include "store/tables.h"

namespace millrace::store {

// One thread at a time. The calls are those of Tables; each but load() sees a snapshot of its own.
class WorkflowReader {
 public:
  WorkflowReader(Database& database, const Clock& clock);

  // Within the caller's transaction.
  Status load(StateVisitor& visitor);
  Result<std::optional<core::WorkflowImage>> image(const JobId& id, std::uint32_t first,
                                                   std::uint32_t count);
  Result<WorkflowPage> list(const WorkflowQuery& query);
  Result<std::vector<JobId>> finished_until(const SharedBytes& queue, core::State retained_as,
                                            Time until, std::uint32_t limit);
  Result<std::optional<Time>> oldest_finished(const SharedBytes& queue, core::State retained_as);

  // Within the caller's transaction.
  Result<std::optional<core::WorkflowImage>> read(const JobId& id, std::uint32_t first,
                                                  std::uint32_t count);

 private:
  std::unexpected<Error> failure() const { return database_.failure("read"); }

  Database& database_;
  const Clock& clock_;
  Statement select_record_;
  Statement select_chunks_;
  Statement select_pages_;
};

}  // namespace millrace::store
