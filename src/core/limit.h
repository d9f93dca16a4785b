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

// Stops all starts once too many attempts fail, and lets a few probe before it closes again.
struct BreakerRule {
  std::uint32_t failure_ppm = 1'000'000;  // opens at so many failures in a million attempts
  std::uint32_t min_attempts = 1;         // of the window; with fewer it stays closed
  Duration window{1'000};
  Duration open{100};        // nothing starts for so long
  std::uint32_t probes = 1;  // that may run after that; so many successes close it
  friend bool operator==(const BreakerRule&, const BreakerRule&) = default;
};

struct LimitSettings {
  Bounds bounds;
  bool per_key = false;         // each key has slots, buckets and a breaker of its own
  std::vector<KeyBounds> keys;  // with per_key: at most kMaxKeyBounds
  std::optional<BreakerRule> breaker;
  std::optional<Rate> retry_rate;  // of the starts after a job's first
  friend bool operator==(const LimitSettings&, const LimitSettings&) = default;
};

enum class LimitKind : std::uint8_t {
  kNamed,  // jobs name it
  kType,   // of all jobs of a type, on all queues
  kQueue,  // of a queue; its settings are the queue's
  kFair,   // no limit: of rows of what a queue's fair shares follow from (fair.h)
};

// Nothing passes until `until`, or until somebody resumes it.
struct LimitPause {
  SharedBytes key;  // empty: the limit as a whole
  SharedBytes reason;
  std::optional<Time> until;
  friend bool operator==(const LimitPause&, const LimitPause&) = default;
};

struct Limit {
  LimitKind kind{};  // kNamed or kType
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
  bool key_from_fair = false;  // of a queue's settings: the key is the job's fair_key
  friend bool operator==(const JobLimit&, const JobLimit&) = default;
};

using JobLimits = std::vector<JobLimit>;

// The attempts of a stretch of time, by how they ended: see breaker.h.
struct BreakerSlice {
  std::uint64_t number = 0;
  std::uint32_t good = 0;
  std::uint32_t failed = 0;
  friend bool operator==(const BreakerSlice&, const BreakerSlice&) = default;
};
struct BreakerRow {
  std::vector<BreakerSlice> slices;
  std::optional<Time> open_until;  // none: it is closed
  std::uint32_t successes = 0;     // of probes
  friend bool operator==(const BreakerRow&, const BreakerRow&) = default;
};

// --- What answers show.

enum class BreakerState : std::uint8_t { kClosed, kOpen, kHalfOpen };

// A gate of a limit, now: that of one key, or the limit's as a whole; or a fair key of a queue.
struct GateUse {
  SharedBytes key;
  std::uint64_t in_use = 0;      // live leases
  std::uint64_t waiting = 0;     // ready jobs that must pass it
  std::uint64_t unfinished = 0;  // jobs that must pass it and have not ended
  std::optional<Time> next_token_at;
  std::optional<LimitPause> pause;      // none: it is not paused
  std::optional<BreakerState> breaker;  // none: it has no breaker
  std::optional<Time> open_until;       // of an open breaker
  std::optional<Time> slow_until;       // a worker asked for less until then
  std::uint32_t weight = 0;             // of a fair key
  std::uint32_t share_ppm = 0;          // of what its queue gave in the last minute
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
  kRetryRate,
  kBreakerOpen,
  kSlowDown,
  kShare,
  kBehind,
};

struct Blocker {
  BlockCode code{};
  // Which limit, where a gate is closed. `kind` tells a type's gate and a queue's.
  LimitKind kind{};
  SharedBytes limit;
  SharedBytes key;
  SharedBytes text;  // kRunning: the worker; pauses: the reason
  // kRunning; kLimitFull: when the last slot was taken; kShare: since when more is wanted.
  std::optional<Time> since;
  std::optional<Time> until;  // kScheduled, kBackoff, gates; kRate: when there is a token
  std::uint64_t in_use = 0;   // kLimitFull, kShare
  std::uint64_t bound = 0;    // kLimitFull: the concurrency; kShare: what this shard may use of it
  std::vector<JobId> jobs;  // kLimitFull: up to 5 that hold it; kOrder: the one that is waited for
  std::uint64_t ahead = 0;  // kBehind: at most kMaxAheadCounted
  bool more = false;        // kBehind, `waiting`: there are more
  std::uint64_t waiting = 0;  // of a queue: its ready jobs that must pass the gate
};

}  // namespace millrace::core
