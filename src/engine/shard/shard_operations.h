// Plans the steps of the shard's parts of operations (core/operations/operation.h). Each step is
// handed out to the node that leads the shard, which selects the jobs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "core/machine.h"
#include "engine/request.h"
#include "engine/shard/shard.h"

namespace millrace::engine {

// Owned by the shard, on its thread. `options` and `machine` outlive it.
class ShardOperations {
 public:
  // The tables must show row `head` before a part continues.
  ShardOperations(const ShardOptions& options, const core::Machine& machine, Seq head);

  // Learns the starts and ends of parts from a batch, which is this row.
  void learn(const core::EventBatch& batch, Seq row);
  void told(const AwaitOperationWork& asked);
  // Fills in the members of a command that only its shard knows.
  void stamp(core::Command& command) const;
  bool retries(const JobId& operation) const;

  // Parts, by core::OperationState; and the jobs that they touched since this term began.
  using Counts = std::array<std::size_t, core::kOperationStates>;
  const Counts& counts() const { return counts_; }
  std::uint64_t changed() const { return changed_; }
  std::uint64_t failed() const { return failed_; }

  // A part waits for the tables to show the jobs that existed when it began.
  bool await_tables(Seq projected) const;
  // A step that can be done now; the parts take turns.
  std::optional<OperationWork> next_work(Time now, Seq projected);
  // When next_work() next has a step, if nothing else happens.
  std::optional<Time> next_work_at(Time now, Seq projected) const;

 private:
  struct Part {
    Seq begun{};  // the row that the tables must show
    std::optional<std::uint32_t> sharers;
    std::uint64_t changed = 0;  // as counted so far
    std::uint64_t failed = 0;
  };
  void count();
  std::uint32_t sharers_of(const JobId& operation) const;
  // Null: it is not running now.
  const core::OperationPart* running(const JobId& operation) const;

  const ShardOptions& options_;
  const core::Machine& machine_;
  std::map<JobId, Part> parts_;  // unfinished parts
  JobId last_;                   // the part whose turn was last
  Counts counts_{};
  std::uint64_t changed_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace millrace::engine
