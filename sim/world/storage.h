// The auditor's access to a shard's store.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/jobs/job.h"
#include "store/journal.h"

namespace millrace::sim {

class Storage {
 public:
  virtual ~Storage() = default;
  // A row of the journal, trimmed or not; none if it was never stored.
  virtual std::optional<store::JournalRow> row(Seq seq) = 0;
  virtual Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) = 0;
};

}  // namespace millrace::sim
