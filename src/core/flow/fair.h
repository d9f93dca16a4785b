// Fair shares: within one priority of a queue, the keys of its jobs get service in proportion to
// their weights, by start-time fair queueing.
//
// The ready jobs of a key at a priority are a flow. A flow's tag is the position of its next start
// in virtual time, and claims take the flow with the least tag. A start advances the tag by the
// cost over the weight, and virtual time to the position of the start. A key that returns at once
// gains nothing: its tag is kept until virtual time has passed it.
//
// Tags, virtual times and mean running times decide later starts, so they are durable and in the
// digest. gates.h describes the lanes; a lane of a fair queue holds the jobs of one key.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "base/time.h"
#include "core/flow/fair_settings.h"
#include "core/flow/gate.h"
#include "core/flow/limit.h"
#include "core/operations/pace.h"

namespace millrace::core {

struct FairFlow;
class FairQueue;

// FairBy::kStarts: the cost of a start; FairBy::kTime: the cost of a second of running time.
inline constexpr std::uint64_t kCostOfOne = std::uint64_t{1} << 20;
// The assumed mean of a key that has never run, in a queue where none has.
inline constexpr std::uint32_t kMeanAtFirstMs = 1'000;

// The jobs of a queue at one priority. Exists while a flow has ready or running jobs. After that
// all keys start anew.
struct FairLevel {
  std::uint64_t now = 0;  // virtual time
  std::uint32_t flows = 0;
  std::uint32_t active = 0;             // flows with ready or running jobs
  std::optional<std::uint64_t> stored;  // `now`, as stored in the tables
  mutable std::uint64_t walk = 0;       // see FairFlow::walk
  mutable std::uint64_t now_of_walk = 0;
  // Flows without such jobs, kept until virtual time passes their tags.
  absl::btree_set<std::pair<std::uint64_t, FairFlow*>> idle;
};

struct FairFlow {
  FairKey* key = nullptr;
  FairLevel* level = nullptr;
  std::int16_t priority = 0;
  bool backlogged = false;  // had ready jobs when the latest event began
  bool active = false;      // counted in FairLevel::active
  bool idle = false;        // in FairLevel::idle
  std::uint32_t ready = 0;
  std::uint32_t running = 0;
  std::uint64_t tag = 0;
  // The walk (GatedWalk) that last used tag_of_walk; it decides nothing later.
  mutable std::uint64_t walk = 0;
  mutable std::uint64_t tag_of_walk = 0;
};

// The service that a key received in the last minute, in slices of ten seconds. In memory only.
struct FairRecent {
  static constexpr Duration kSlice{10'000};
  static constexpr std::size_t kSlices = 6;
  std::array<std::int64_t, kSlices> slice{};  // slice numbers, parallel to `given`
  std::array<std::uint64_t, kSlices> given{};
  void add(Time now, std::uint64_t amount);
  std::uint64_t sum(Time now) const;
};

// Lanes of one key that stand in one group: see GateGroup.
struct FairStand {
  GateGroup* group = nullptr;
  FairKey* key = nullptr;
  absl::btree_set<LaneHead> lanes;
  std::optional<HeadKey> listed;  // its entry in the group
};

struct FairKey {
  FairQueue* queue = nullptr;
  SharedBytes name;
  std::uint32_t weight = 1;
  std::uint32_t lanes = 0;
  std::uint32_t ready = 0;
  std::uint32_t running = 0;
  std::uint32_t unfinished = 0;
  std::uint32_t due = 0;     // ready, or behind others of its order key
  bool touched = false;      // in GateIndex's touched keys
  bool dirty = false;        // in the queue's dirty keys
  bool resting = false;      // in the queue's resting keys
  bool mean_stored = false;  // or may be stored
  std::uint64_t mean = 0;    // recent running time, in ms/256; 0: it has never run
  Time used_at{};            // when an attempt last ended
  absl::InlinedVector<std::unique_ptr<FairFlow>, 1> flows;  // by priority
  absl::flat_hash_map<const GateGroup*, std::unique_ptr<FairStand>> stands;
  std::vector<std::int16_t> stored;  // the priorities whose tag the tables have, or may have
  std::unique_ptr<FairRecent> recent;
  std::unique_ptr<Pace> pace;  // if the queue bounds the ready jobs of each key

  const FairFlow* flow(std::int16_t priority) const {
    const auto at = std::ranges::lower_bound(flows, priority, {}, &FairKey::priority_of);
    return at == flows.end() || (*at)->priority != priority ? nullptr : at->get();
  }
  static std::int16_t priority_of(const std::unique_ptr<FairFlow>& flow) { return flow->priority; }
  std::uint64_t tag(std::int16_t priority) const {
    const FairFlow* const found = flow(priority);
    return found == nullptr ? 0 : found->tag;
  }
};

// The position of a start in virtual time, and the flow's tag after it.
struct FairStart {
  std::uint64_t at = 0;
  std::uint64_t tag = 0;
  std::uint32_t charged_ms = 0;  // FairBy::kTime; 0: the attempt's end corrects nothing
};

class FairQueue {
 public:
  FairQueue(const SharedBytes& queue, const FairSettings& settings);
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;

  const SharedBytes& name() const { return name_; }
  void apply(const FairSettings& settings);
  bool by_time() const { return settings_.by == FairBy::kTime; }

  FairKey& ensure(const SharedBytes& key);
  const FairKey* find(std::string_view key) const;
  // Beginning after `after`, until `visit` returns false; the key "" is the first one.
  template <typename Visit>
  void walk(const std::optional<std::string_view>& after, Visit visit) const {
    for (auto at = after ? keys_.upper_bound(*after) : keys_.begin(); at != keys_.end(); ++at) {
      if (!visit(*at->second)) return;
    }
  }
  const std::map<std::int16_t, FairLevel>& levels() const { return levels_; }
  std::uint64_t mean() const { return mean_; }
  std::size_t keys() const { return keys_.size(); }
  // The service that all keys received in the last minute, without running attempts.
  std::uint64_t given(Time now) const { return recent_.sum(now); }

  // The start of a job of the key, given its `tag` and virtual time `now`.
  FairStart start(const FairKey& key, std::uint64_t tag, std::uint64_t now) const;
  std::uint64_t units(std::uint64_t ms, const FairKey& key) const;

  // --- Changes. The caller calls settle() after the event.
  FairFlow& flow_of(FairKey& key, std::int16_t priority);
  void count_ready(FairKey& key, std::int16_t priority, bool more);
  void count_running(FairKey& key, std::int16_t priority, bool more);
  // Moves virtual time forward to `now`.
  void advance(FairLevel& level, std::uint64_t now);
  void learn(FairKey& key, Duration ran, Time now);
  // Takes the means from a queue that shared by another measure. Returns the keys that it touched.
  std::vector<FairKey*> take_means(const FairQueue& old);
  void give(FairKey& key, std::uint64_t amount, Time now);
  // Call at the end of an event: count_active() for all touched keys, then settle(), which keeps or
  // drops flows that no longer have jobs.
  void count_active(FairKey& key);
  void settle(FairKey& key);
  void drop_if_unused(FairKey& key);
  void note(FairKey& key);

  // --- The tables: rows of LimitKind::kFair.
  void load(const BucketRow& row, std::vector<FairKey*>& touched);
  // Another node writes the tables and may have stored the key's current values.
  void assume_stored(FairKey& key);
  void take_rows(Time now, std::vector<BucketRow>& rows);
  bool dirty() const { return !dirty_.empty() || mean_dirty_; }

  std::uint64_t begin_walk() const { return ++walks_; }

  // The gate of lanes without gates. It is always open.
  Gate open;
  bool listed = false;  // in GateIndex's list of fair queues with changes

 private:
  void set_idle(FairFlow& flow, bool idle);
  void drop(FairFlow& flow);
  void drop_idle(FairLevel& level, std::uint64_t up_to);
  void settle(FairFlow& flow);
  void rest(FairKey& key, bool resting);
  std::uint32_t weight_of(const SharedBytes& key) const;

  const SharedBytes name_;
  FairSettings settings_;
  absl::flat_hash_map<std::string_view, std::uint32_t> weights_;      // views of settings_
  absl::btree_map<std::string_view, std::unique_ptr<FairKey>> keys_;  // views of their names
  std::map<std::int16_t, FairLevel> levels_;                          // flows point to them
  // Keys with a mean and without unfinished jobs, by when they last ran.
  absl::btree_set<std::pair<Time, std::string_view>> resting_;
  std::vector<FairKey*> dirty_;
  std::vector<std::int16_t> stored_levels_;
  std::uint64_t mean_ = 0;  // over all keys
  FairRecent recent_;
  mutable std::uint64_t walks_ = 0;
  bool mean_dirty_ = false;
};

}  // namespace millrace::core
