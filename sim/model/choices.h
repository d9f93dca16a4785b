// What the model takes from a batch, since the contract leaves it open, and what it says of
// submissions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/event.h"
#include "core/queue.h"
#include "core/reply.h"

namespace millrace::sim {

// The choices of a batch where the contract leaves one.
struct Choices {
  explicit Choices(const core::EventBatch& batch);
  absl::flat_hash_map<std::uint64_t, const core::AttemptEnded*> ends;  // by token
  std::vector<const core::Submitted*> submitted;
  std::map<std::string, std::uint32_t, std::less<>> queues_made;
  absl::flat_hash_map<JobId, std::uint32_t> retried;
  std::vector<const core::Claimed*> claims;
  std::vector<JobId> expired;
  std::vector<const core::Deleted*> retention;
  absl::flat_hash_map<std::uint64_t, const core::Finished*> finished;  // by token
  Duration extended{};
};

struct ModelQueue {
  core::QueueSettings settings;
  bool paused = false;
  std::uint64_t version = 1;
  core::StateCounts counts{};
  std::uint64_t created = 0;
  std::uint64_t pruned = 0;
};

struct Verdict {
  core::Fate fate = core::Fate::kCreated;
  core::Rejection why = core::Rejection::kNone;
  JobId id;
  std::optional<JobId> replaces;
  bool debounces = false;  // the existing job takes over what the submission says
};

}  // namespace millrace::sim
