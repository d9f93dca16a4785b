// Jobs and workflows that only the tables hold, read for the commands of one step before any of
// them is decided. Memory takes precedence: the machine looks here only for what it does not hold,
// and it holds everything that a pending flush has not stored yet.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/result.h"
#include "core/machine.h"
#include "store/tables.h"

namespace millrace::engine {

// A row may have a payload and a result of 1 MiB each.
inline constexpr std::size_t kPrefetchChunk = 64;
inline constexpr std::size_t kPrefetchBytes = 32 * 1024 * 1024;

class Prefetch : public core::Prefetched {
 public:
  // Adds the ids that deciding `command` needs from the tables.
  void want(const core::Machine& machine, const core::Command& command);
  const std::vector<JobId>& needed() const { return needed_; }
  struct Wanted {
    std::size_t jobs = 0;
    std::size_t workflows = 0;
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  Wanted wanted() const { return {needed_.size(), needed_workflows_.size()}; }

  // Reads the wanted jobs in order, chunk by chunk: the first `at_least` ids however large, then
  // more until it holds kPrefetchBytes. Returns how many of the first ids are settled. Results are
  // never read; payloads only for retries and known ids, since no other decision needs them.
  Result<std::size_t> load(store::Tables& tables, std::size_t at_least = 0);

  // Reads the wanted workflows whole.
  Status load_workflows(store::Tables& tables);

  const core::Job* find(const JobId& id) const override;
  const core::WorkflowImage* workflow(const JobId& id) const override;

  // Call before jobs that have ended begin a new generation, with tokens from `token` on. Fences
  // off commits of earlier generations where possible. After the call only those jobs count as
  // fenced.
  void raise_fences(store::Fences& fences, const std::vector<JobId>& jobs, LeaseToken token);
  bool fenced(const JobId& id) const override { return !fences_required_ || fenced_.contains(id); }

 private:
  void compare_payloads(const std::vector<core::JobSpec>& jobs);

  std::vector<JobId> needed_;
  absl::flat_hash_set<JobId> with_payload_;
  absl::flat_hash_map<JobId, core::Job> jobs_;
  std::vector<JobId> needed_workflows_;
  absl::flat_hash_map<JobId, core::WorkflowImage> workflows_;
  absl::flat_hash_set<JobId> fenced_;
  bool fences_required_ = false;
};

}  // namespace millrace::engine
