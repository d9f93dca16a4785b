// Limits: how many jobs may run together, and how often one may start. A limit is a gate: a job
// passes all of its gates, or it waits (gates.h).
//
// A job names limits. Beside these, its type and its queue may have a gate of their own, which
// every job of the type or queue passes.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"

namespace millrace::core {

// A token bucket: `limit` starts in each `per`, and `burst` at once.
struct Rate {
  std::uint32_t limit = 1;
  Duration per{1'000};
  std::optional<std::uint32_t> burst;  // none: `limit`

  std::uint32_t most_at_once() const { return burst.value_or(limit); }
  friend bool operator==(const Rate&, const Rate&) = default;
};

// The bounds of one gate; none: no bound.
struct Bounds {
  std::optional<std::uint32_t> concurrency;  // live leases together
  std::optional<Rate> rate;                  // of starts
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// Other bounds for one key. An absent member is as for every key.
struct KeyBounds {
  SharedBytes key;
  Bounds bounds;
  friend bool operator==(const KeyBounds&, const KeyBounds&) = default;
};

struct LimitSettings {
  Bounds bounds;
  bool per_key = false;         // each key has slots and a bucket of its own
  std::vector<KeyBounds> keys;  // with per_key: at most kMaxKeyBounds
  friend bool operator==(const LimitSettings&, const LimitSettings&) = default;
};

enum class LimitKind : std::uint8_t {
  kNamed,  // jobs name it
  kType,   // of all jobs of a type, on all queues
  kQueue,  // of a queue; its settings are the queue's
};

// Nothing passes until `until`, or until somebody resumes it.
struct LimitPause {
  SharedBytes key;  // empty: the limit as a whole
  SharedBytes reason;
  std::optional<Time> until;
  friend bool operator==(const LimitPause&, const LimitPause&) = default;
};

struct Limit {
  LimitKind kind{};  // never kQueue
  SharedBytes name;
  LimitSettings settings;
  std::uint64_t version = 1;
  std::uint64_t incarnation = 0;   // random; another one after the name was deleted and set again
  std::vector<LimitPause> pauses;  // at most one a key; those that have ended may be here still
  // On a store of several shards, by a counter of the limit's home: of its last change, and of the
  // last change of its bounds. Copies go by the first, shares by the second.
  std::uint64_t revision = 0;
  std::uint64_t bounds_revision = 0;
  // There may be leases that no share counts: they began before there was a concurrency.
  bool uncounted = false;
  friend bool operator==(const Limit&, const Limit&) = default;
};

// A limit that a job names.
struct JobLimit {
  SharedBytes name;
  SharedBytes key;         // empty: the limit is not per key
  std::uint32_t cost = 1;  // of a start, against the rate
  // Of the limit when the job was submitted. A later limit of this name does not hold the job.
  std::uint64_t incarnation = 0;
  friend bool operator==(const JobLimit&, const JobLimit&) = default;
};

using JobLimits = std::vector<JobLimit>;

// --- What answers show.

// A gate of a limit, now: that of one key, or the limit's as a whole.
struct GateUse {
  SharedBytes key;
  std::uint64_t in_use = 0;   // live leases
  std::uint64_t waiting = 0;  // ready jobs that must pass it
  std::uint64_t unfinished = 0;  // jobs that must pass it and have not ended
  std::optional<Time> next_token_at;
  std::optional<LimitPause> pause;  // none: it is not paused
};
struct LimitView {
  Limit limit;
  GateUse use;
};

// Why a job is not running: codes in the order in which reasons are listed.
enum class BlockCode : std::uint8_t {
  kRunning,
  kEnded,
  kScheduled,
  kBackoff,
  kParents,
  kExpired,
  kQueuePaused,
  kTypePaused,
  kLimitPaused,
  kOrder,
  kLimitFull,
  kRate,
  kShare,
  kBehind,
};

struct Blocker {
  BlockCode code{};
  // Which limit: kLimitPaused, kLimitFull, kRate. `kind` tells a type's gate and a queue's.
  LimitKind kind{};
  SharedBytes limit;
  SharedBytes key;
  SharedBytes text;           // kRunning: the worker; pauses: the reason
  // kRunning; kLimitFull: when the last slot was taken; kShare: since when more is wanted.
  std::optional<Time> since;
  std::optional<Time> until;  // kScheduled, kBackoff, pauses; kRate: when there is a token
  std::uint64_t in_use = 0;   // kLimitFull, kShare
  std::uint64_t bound = 0;    // kLimitFull: the concurrency; kShare: what this shard may use of it
  std::vector<JobId> jobs;  // kLimitFull: up to 5 that hold it; kOrder: the one that is waited for
  std::uint64_t ahead = 0;  // kBehind: at most kMaxAheadCounted
  bool more = false;        // kBehind: there are more
};

}  // namespace millrace::core
