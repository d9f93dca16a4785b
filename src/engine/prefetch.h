// Jobs that are in the tables alone, read for the commands of one step before any of them is
// decided. Memory wins over them: the machine asks here only for what it does not hold, and it
// holds whatever a flush under way has not stored yet.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/result.h"
#include "core/machine.h"
#include "store/tables.h"

namespace millrace::engine {

// A row may bring a payload and a result of a MiB each.
inline constexpr std::size_t kPrefetchChunk = 64;
inline constexpr std::size_t kPrefetchBytes = 32 * 1024 * 1024;

class Prefetch : public core::Prefetched {
 public:
  // Adds what deciding `command` needs from the tables.
  void want(const core::Machine& machine, const core::Command& command);
  const std::vector<JobId>& wanted() const { return wanted_; }

  // Reads what is wanted chunk by chunk, in order: the first `at_least` ids, however large, and on
  // until it holds kPrefetchBytes. Says how many of the first ids are settled. No decision needs a
  // result, and only one on a retry the payload: jobs come without.
  Result<std::size_t> load(store::Tables& tables, std::size_t at_least = 0);

  const core::Job* find(const JobId& id) const override;

  // Before jobs that have ended begin a new generation, of tokens from `token` on: what earlier
  // ones may still commit is fenced off, where that can be. From here on no other job counts as
  // fenced.
  void raise_fences(store::Fences& fences, const std::vector<JobId>& jobs, LeaseToken token);
  bool fenced(const JobId& id) const override { return !fences_required_ || fenced_.contains(id); }

 private:
  std::vector<JobId> wanted_;
  absl::flat_hash_set<JobId> with_payload_;
  absl::flat_hash_map<JobId, core::Job> jobs_;
  absl::flat_hash_set<JobId> fenced_;
  bool fences_required_ = false;
};

}  // namespace millrace::engine
