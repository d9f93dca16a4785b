// Deciding on submissions: what is decided on one, and what those before it in a request will do.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/command.h"
#include "core/reply.h"
#include "core/string_map.h"

namespace millrace::core {

// The decision on one submission.
struct Verdict {
  Fate fate = Fate::kCreated;
  Refusal refusal;
  JobId id;                    // of the job that now stands under the id or key
  std::optional<State> state;  // of an existing job, where known
  std::optional<JobId> replaces;
  bool debounces = false;  // the existing job takes over what the submission says
  bool deleted = false;    // the existing job is known to be deleted
  bool by_key = false;     // it was found by an idempotency key
};

// What the earlier items of an atomic submission will have done, while none of them is decided yet.
struct PendingEffects {
  absl::flat_hash_map<JobId, const JobSpec*> ids;
  // Jobs that will have ended and left nothing behind. One that is submitted anew after that is in
  // `ids`.
  absl::flat_hash_set<JobId> forgotten;
  StringMap<JobId> uniques;        // "queue \0 key"
  StringMap<std::uint64_t> ready;  // by queue, and "queue \0 fair key", where that is bounded
  absl::flat_hash_map<Fingerprint, const JobSpec*> keys;  // idempotency keys
  StringMap<bool> queues;                                 // queues that will be created
  // The job that the same ack ends, before the jobs that come with it.
  struct Ended {
    JobId id;
    bool frees_unique = false;
  };
  std::optional<Ended> ended;
};

}  // namespace millrace::core
