// The choices that the model takes from a batch because the contract leaves them open, and the
// model's verdicts on submissions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/event.h"
#include "core/queues/queue.h"
#include "core/reply.h"

namespace millrace::sim {

// The batch's choices where the contract leaves them open.
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
  bool debounces = false;  // the existing job takes over the submission's content
};

}  // namespace millrace::sim
