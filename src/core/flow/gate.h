// A gate and its lanes: see gates.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/mutant.h"
#include "base/time.h"
#include "core/flow/breaker.h"
#include "core/flow/bucket.h"
#include "core/flow/limit.h"
#include "core/flow/share.h"
#include "core/jobs/job.h"
#include "core/jobs/ready_index.h"
#include "core/string_map.h"

namespace millrace::core {

struct FairKey;    // fair.h
struct FairStand;  // fair.h
struct Gate;
struct LimitEntry;
struct QueueEntry;

// A lane and its first job.
struct LaneHead {
  ReadyKey key;
  TypeLane* lane = nullptr;
  friend bool operator<(const LaneHead& a, const LaneHead& b) { return a.key < b.key; }
};

// A key's lanes in a group, and their first job.
struct StandHead {
  HeadKey key;
  FairStand* stand = nullptr;
  friend bool operator<(const StandHead& a, const StandHead& b) { return a.key < b.key; }
};

struct GateGroup {
  Gate* gate = nullptr;
  TypeLane* pair = nullptr;  // the lane of the jobs without limits of the same queue and type
  std::uint32_t cost = 1;
  absl::btree_set<LaneHead> lanes;                     // empty if the queue shares fairly
  std::unique_ptr<absl::btree_set<StandHead>> stands;  // used instead if it does; null: none yet
  std::optional<HeadKey> listed;                       // its entry in the order of the pair's queue
};

// The starts that a decision has made and not yet applied.
struct Taken {
  std::uint32_t starts = 0;
  std::uint64_t tokens = 0;
};
using TakenMap = absl::flat_hash_map<const Gate*, Taken>;

inline constexpr Time kNever = Time::max();

// A gate's state on a store of several shards.
struct GateShares {
  Bounds whole;                   // of all shards together
  std::optional<Share> share;     // this shard's; none: it has nothing
  std::optional<ShareBook> book;  // only at the limit's home
  // Not durable:
  std::vector<ShareNeed> needs;  // only with a book
  std::uint64_t surplus = 0;     // units given up and not yet reported
  Duration surplus_per{};
  bool report_now = false;
  Time reported_at{};
  std::uint32_t reported_in_use = 0;
  Time report_at = kNever;  // its entries in the reports, the pushes and the finished books
  Time push_at = kNever;
  Time over_at = kNever;
  Time pushed_at{};                // when shards were last sent their shares
  std::optional<Time> idle_since;  // none: it is in use
  std::optional<Time> wanted_since;
};
// A start of any cost passes.
inline constexpr std::uint32_t kAnyCost = 0xffffffff;

// State that few gates have.
struct GateExtras;

struct Gate {
  Gate();
  ~Gate();
  LimitEntry* limit = nullptr;
  SharedBytes key;                     // empty: the gate of the limit as a whole
  std::unique_ptr<GateExtras> extras;  // null: it has none
  std::uint64_t serial = 0;
  Bounds bounds;
  std::optional<Bucket> bucket;  // none: it is full
  std::uint32_t in_use = 0;      // live leases
  std::uint32_t lanes = 0;       // lanes that must pass it
  std::uint32_t most_cost = 1;   // highest cost of a lane since the gate last had none
  std::uint32_t ready = 0;       // ready jobs that must pass it
  std::uint32_t unfinished = 0;  // jobs that must pass it and have not ended
  bool paused = false;
  bool dropped = false;  // its limit is deleted: it holds nothing back
  bool shut = false;     // this shard has no share of its rate
  bool dirty = false;    // the tables lack its current row
  bool stored = false;   // the tables have, or may have, a row for it
  std::optional<Time> paused_until;
  std::uint32_t open_up_to = kAnyCost;  // groups of at most this cost are listed
  Time opens_at = kNever;               // its entry in the timers
  Time full_at = kNever;                // its entry in the timers of gates that become idle
  std::unique_ptr<GateShares> shares;   // null: this shard alone uses the limit
  // By cost, then by the pair's serial number.
  absl::btree_map<std::pair<std::uint32_t, std::uint64_t>, std::unique_ptr<GateGroup>> groups;

  bool is_paused(Time now) const { return paused && (!paused_until || now < *paused_until); }
  bool is_slowed(Time now) const;
  // Null: the gate has no breaker.
  const BreakerRule* breaker_rule() const;
  Breaker* breaker() const;
  bool breaker_stops(const Taken& taken, Time now) const;
  Gate* retries() const;
  bool is_shut(Time now) const {
    return shut || (shares != nullptr && shares->share && now < shares->share->not_before);
  }
  // Jobs wait here, and a larger share of the limit would let some of them pass.
  bool lacks_share(Time now) const;
  // For a gate of retries only: the gate of all starts. Null: this gate is for all starts.
  Gate* retries_of() const;
  bool is_full(const Taken& taken) const {
    const std::uint32_t slots_late = mutated(Mutant::kLimitSlotLate) ? 1 : 0;
    return bounds.concurrency && in_use + taken.starts >= *bounds.concurrency + slots_late;
  }
  // When its bucket has `tokens`, unless something else is taken; none: never.
  std::optional<Time> has_at(std::uint64_t tokens, Time now, const Taken& taken = {}) const;
  // The highest cost of a start that may pass now; 0: none. Dispatch depends on this alone.
  std::uint32_t open_for(Time now, const Taken& taken = {}) const;
};

struct GateExtras {
  Gate* retries_of = nullptr;
  std::optional<Time> slow_until;  // a worker asked for less
  std::optional<Breaker> breaker;  // of a gate with a breaker, once an attempt has ended
  std::unique_ptr<Gate> retries;   // of a limit with a retry_rate
};

// A gate that a job's lane must pass.
struct LaneGate {
  Gate* gate = nullptr;
  std::uint32_t cost = 1;
  friend bool operator==(const LaneGate&, const LaneGate&) = default;
};

// From narrow to wide: gates of keys, then of limits, then of a type's retries.
using LaneGates = std::vector<LaneGate>;

struct LimitedLane : TypeLane {
  TypeLane* pair = nullptr;
  GateGroup* group = nullptr;  // its current group; null: it has no ready job
  LaneGates gates;             // none: it has a fair key only
  // Null: its queue does not share fairly.
  FairKey* fair() const;
};

struct FairLane final : LimitedLane {
  FairKey* key = nullptr;
  FairStand* stand = nullptr;  // in its group
};
inline FairKey* LimitedLane::fair() const {
  return shares ? static_cast<const FairLane*>(this)->key : nullptr;
}
struct LaneDeleter {
  void operator()(LimitedLane* lane) const {
    if (lane->shares) {
      delete static_cast<FairLane*>(lane);
    } else {
      delete lane;
    }
  }
};
using LanePtr = std::unique_ptr<LimitedLane, LaneDeleter>;

struct LimitEntry {
  Limit limit;
  std::unique_ptr<Gate> whole;  // if the limit counts by key, this gate can only be paused
  // Keys that have jobs in memory, or a bucket that is not full. The keys are views of the gates'
  // own.
  absl::btree_map<std::string_view, std::unique_ptr<Gate>> keys;
  absl::btree_map<std::uint64_t, TypeLane*> pairs;  // kType: the queues' lanes of this type
  QueueEntry* queue = nullptr;                      // kQueue
  std::uint32_t lanes = 0;                          // lanes that hold one of its gates
  std::uint64_t share_floor = 0;                    // see ShareReport::floor

  bool counts_by_key() const { return limit.settings.per_key; }
  // Whether the gate carries the limit's bounds, rather than its keys' gates.
  bool counts_at(const Gate& gate) const { return counts_by_key() != gate.key.empty(); }
  const Gate* find(std::string_view key) const;
  Gate* find_gate(std::string_view key) { return const_cast<Gate*>(find(key)); }
};

// Whether the attempt counts as a success or failure for breakers; none: neither.
std::optional<bool> counts_as_good(AttemptOutcome outcome);
// The gate's row for the tables.
BucketRow memory_of(const Gate& gate, Time now);

}  // namespace millrace::core
