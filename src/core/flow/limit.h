// Limits: how many jobs may run at once, and how often one may start. A limit is a gate: a job
// waits until it passes all of its gates (gates.h).
//
// A job names limits. In addition, its type and its queue may each have a gate that all their jobs
// pass.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "terms/flow.h"

namespace millrace::core {

using terms::BreakerRule;
using terms::JobLimit;
using terms::Rate;

// The bounds of one gate; none: no bound.
struct Bounds {
  std::optional<std::uint32_t> concurrency;  // simultaneous live leases
  std::optional<Rate> rate;                  // of starts
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

// Bounds for one key. An absent member keeps the value for all keys.
struct KeyBounds {
  SharedBytes key;
  Bounds bounds;
  friend bool operator==(const KeyBounds&, const KeyBounds&) = default;
};

struct LimitSettings {
  Bounds bounds;
  bool per_key = false;         // each key has slots, buckets and a breaker of its own
  std::vector<KeyBounds> keys;  // with per_key: at most kMaxKeyBounds
  std::optional<BreakerRule> breaker;
  std::optional<Rate> retry_rate;  // for starts after a job's first
  friend bool operator==(const LimitSettings&, const LimitSettings&) = default;
};

enum class LimitKind : std::uint8_t {
  kNamed,  // jobs name it
  kType,   // of all jobs of a type, on all queues
  kQueue,  // of a queue; its settings are the queue's
  kFair,   // not a limit: rows with the state of a queue's fair shares (fair.h)
};

// Nothing passes until `until`, or until a user resumes it.
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
  std::uint64_t incarnation = 0;   // random; changes if the name is deleted and set again
  std::vector<LimitPause> pauses;  // at most one per key; may include pauses that have ended
  // On a store of several shards, a counter of the limit's home: the values at the last change and
  // at the last change of bounds. Copies follow the first, shares the second.
  std::uint64_t revision = 0;
  std::uint64_t bounds_revision = 0;
  // There may be leases that no share counts: they began before the limit had a concurrency.
  bool uncounted = false;
  friend bool operator==(const Limit&, const Limit&) = default;
};

using JobLimits = std::vector<JobLimit>;

// The outcomes of the attempts of one time slice: see breaker.h.
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

// --- Contents of replies.

enum class BreakerState : std::uint8_t { kClosed, kOpen, kHalfOpen };

// The current use of a gate: the limit's as a whole or that of one key; or of a queue's fair key.
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
  std::uint32_t share_ppm = 0;          // of the service that the queue gave in the last minute
};
struct LimitView {
  Limit limit;
  GateUse use;
};

// Why a job is not running: codes in the order in which they are listed.
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
  // The limit of a closed gate. `kind` distinguishes gates of types and of queues.
  LimitKind kind{};
  SharedBytes limit;
  SharedBytes key;
  SharedBytes text;  // kRunning: the worker; pauses: the reason
  // kRunning; kLimitFull: when the last slot was taken; kShare: since when the shard has wanted
  // more.
  std::optional<Time> since;
  std::optional<Time> until;  // kScheduled, kBackoff, gates; kRate: when there is a token
  std::uint64_t in_use = 0;   // kLimitFull, kShare
  std::uint64_t bound = 0;    // kLimitFull: the concurrency; kShare: the usable part of it
  std::vector<JobId> jobs;    // kLimitFull: up to 5 holders; kOrder: the job ahead
  std::uint64_t ahead = 0;    // kBehind: at most kMaxAheadCounted
  bool more = false;          // kBehind, `waiting`: there are more
  std::uint64_t waiting = 0;  // for a queue: its ready jobs that must pass the gate
};

}  // namespace millrace::core
