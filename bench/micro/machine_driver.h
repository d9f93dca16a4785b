// A machine that is asked as the engine asks it: a command, then what it woke and what ended, then
// the end of the step. What changed is taken for the tables now and then, which are not there.
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

  // --- Commands, made of new jobs, and of what was handed out.
  core::Enqueue new_jobs(std::size_t count);
  static core::Claim claim(std::size_t count);
  // Names so many queues, which must be there; the last of them is the one with jobs.
  static core::Claim claim_naming(std::size_t queues, std::size_t count);
  static core::Ack succeeded(const core::ClaimReply& claimed);

  // One command as a step of its own. Its events are in batch() until the next one.
  core::Reply step(const core::Command& command);
  const core::EventBatch& batch() const { return batch_; }

  // Takes what changed, as if the tables had it, when that is much: what a flush does.
  void project_if_due();

  // Submits until so many jobs are ready, and projects all.
  void fill(std::int64_t jobs);
  // Makes the other queues that claim_naming() names.
  void add_empty_queues(std::size_t queues);
  core::Machine& machine() { return machine_; }

 private:
  // Every job is in memory: the tables know nothing more.
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
