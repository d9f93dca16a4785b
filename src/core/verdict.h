// Decisions on submissions, and the pending effects of earlier ones in the same request.
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
  JobId id;                    // of the job that now has the id or key
  std::optional<State> state;  // of an existing job, where known
  std::optional<JobId> replaces;
  bool debounces = false;  // the existing job takes over the submission's content
  bool deleted = false;    // the existing job is known to be deleted
  bool by_key = false;     // it was found by an idempotency key
};

// The effects of earlier items of an atomic submission, none of which is decided yet.
struct PendingEffects {
  absl::flat_hash_map<JobId, const JobSpec*> ids;
  // Jobs that will have ended and left nothing behind. One that is submitted again after that is in
  // `ids`.
  absl::flat_hash_set<JobId> forgotten;
  StringMap<JobId> uniques;        // "queue \0 key"
  StringMap<std::uint64_t> ready;  // by queue, and "queue \0 fair key", where that is bounded
  absl::flat_hash_map<Fingerprint, const JobSpec*> keys;  // idempotency keys
  StringMap<bool> queues;                                 // queues that will be created
  // The job that the same ack ends, before the jobs that it submits.
  struct Ended {
    JobId id;
    bool frees_unique = false;
  };
  std::optional<Ended> ended;
  // The submission has been judged as part of a whole. Bounds on memory hold for the whole only: it
  // may go beyond them by its own jobs.
  bool judged = false;
};

}  // namespace millrace::core
