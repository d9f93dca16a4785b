// The workflows of the memory store.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/changes.h"
#include "store/tables.h"

namespace millrace::store {

// Not thread-safe. The calls are those of Tables.
class MemoryWorkflows {
 public:
  void write(const core::Changes& changes);
  Status load(StateVisitor& visitor) const;
  Result<std::optional<core::WorkflowImage>> image(const JobId& id, std::uint32_t first,
                                                   std::uint32_t count) const;
  WorkflowPage list(const WorkflowQuery& query) const;
  // By the end, and the id.
  std::map<std::pair<Time, JobId>, JobId> finished(const SharedBytes& queue,
                                                   core::State retained_as) const;

 private:
  struct Stored {
    core::Workflow workflow;
    std::map<std::uint32_t, core::MemberChunk> chunks;
    std::map<std::uint32_t, core::FatePage> pages;
  };
  std::map<JobId, Stored> stored_;
};

}  // namespace millrace::store
