// Drives a machine as the engine does: a command, then the wake-ups and expired jobs, then the end
// of the step. From time to time it takes the changes as if for the tables, which do not exist
// here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "core/machine.h"

namespace millrace::bench {

inline constexpr std::size_t kPayloadBytes = 200;

class MachineDriver {
 public:
  MachineDriver();

  // --- Commands, made from new jobs or from claimed ones.
  core::Enqueue new_jobs(std::size_t count);
  static core::Claim claim(std::size_t count);
  // Names `queues` queues, which must exist; only the last one has jobs.
  static core::Claim claim_naming(std::size_t queues, std::size_t count);
  static core::Ack succeeded(const core::ClaimReply& claimed);

  // Runs one command as a separate step. Its events are in batch() until the next step.
  core::Reply step(const core::Command& command);
  const core::EventBatch& batch() const { return batch_; }

  // If there are many changes, takes them as a flush to the tables would.
  void project_if_due();

  // Submits until `jobs` jobs are ready, then projects all changes.
  void fill(std::int64_t jobs);
  // Creates the other queues that claim_naming() names.
  void add_empty_queues(std::size_t queues);
  core::Machine& machine() { return machine_; }

 private:
  // Every job is in memory; the tables have no others.
  struct NoTables final : core::Prefetched {
    const core::Job* find(const JobId&) const override { return nullptr; }
  };

  core::Machine machine_;
  NoTables tables_;
  Time now_ = time_from_ms(1'700'000'000'000);
  Random random_{1};
  core::EventBatch batch_;
};

}  // namespace millrace::bench
