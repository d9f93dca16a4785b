// Reads workflows from the tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "store/postgres/postgres_shard.h"
#include "store/tables.h"
#include "store/workflow_rows.h"

namespace millrace::store {

// The state of one call. The calls are those of Tables.
class PostgresWorkflows {
 public:
  explicit PostgresWorkflows(const PostgresShard& shard) : shard_(shard) {}

  Result<std::optional<core::WorkflowImage>> image(const JobId& id, std::uint32_t first,
                                                   std::uint32_t count);
  Result<WorkflowPage> list(const WorkflowQuery& query);
  Result<std::vector<JobId>> finished_until(const SharedBytes& queue, core::State retained_as,
                                            Time until, std::uint32_t limit);
  Result<std::optional<Time>> oldest_finished(const SharedBytes& queue, core::State retained_as);

  // Adds statements that read every workflow that may change, as a part of load_tables().
  void add_live(SqlMessage& message);
  // Once the message has been answered: visits what they read.
  Status visit_live(StateVisitor& visitor);

 private:
  // Each takes a row of the statement whose columns it names, and notes the first error.
  bool take_record(const SqlRow& row);  // detail
  bool take_chunk(const SqlRow& row);   // workflow, chunk
  bool take_page(const SqlRow& row);    // workflow, page
  ImageRows* image_of(const SqlRow& row);
  bool note(Status status);
  // The next workflows below `place`, newest first, at most `limit`.
  Result<std::vector<core::Workflow>> piece(const WorkflowCursor& place, std::int64_t limit);
  Result<SqlResult> read(const char* sql, Parameters parameters);

  const PostgresShard& shard_;
  std::uint32_t first_ = 0;
  std::uint32_t count_ = ~std::uint32_t{0};
  std::map<JobId, ImageRows> images_;
  Status status_;
};

}  // namespace millrace::store
