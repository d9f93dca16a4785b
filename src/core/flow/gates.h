// Gates: they enforce the bounds of limits, types and queues, and track the jobs that wait at each.
//
// Ready jobs of one queue and type with the same limits, keys and costs form a lane: its jobs pass
// together or wait together. A group is the lanes of one queue, type and cost at one gate; a lane
// is in one group. While a gate has room for a group's cost, the group is listed in its queue's
// order, by its first job; when the gate closes, the group is removed. So opening or closing a gate
// touches the gate's groups and none of the lanes in them.
//
// If a queue shares fairly, a lane holds the jobs of one key and may have no gates; it then stands
// at a gate of the queue that is always open. Within a group, lanes are grouped by key (fair.h).
//
// The position of a lane decides nothing: dispatch asks every gate of a lane. The position is
// neither durable nor in the digest.
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
#include "base/time.h"
#include "core/event.h"
#include "core/flow/gate.h"
#include "core/flow/gate_parts.h"
#include "core/flow/limit.h"
#include "core/jobs/job.h"
#include "core/jobs/ready_index.h"
#include "core/queues/queue_entry.h"
#include "core/string_map.h"

namespace millrace::core {

struct FairFlow;  // fair.h
class FairQueue;

// The key under which the group would be listed; none: it has no lanes.
std::optional<HeadKey> first_of(const GateGroup& group);

class GateIndex {
 public:
  GateIndex() = default;
  GateIndex(const GateIndex&) = delete;
  GateIndex& operator=(const GateIndex&) = delete;

  // This shard is one of several: see share.h. Call before everything else.
  void share_with(std::uint32_t shard, std::uint32_t shards) {
    shard_ = shard;
    shards_ = shards;
  }
  bool shares() const { return shards_ > 1; }
  // While another node writes the tables, they may have a row for anything that changes.
  void follow(bool follows) { follows_ = follows; }
  bool is_home(std::string_view limit) const { return is_home_of(shard_, limit); }
  bool is_home_of(std::uint32_t shard, std::string_view limit) const;

  // --- Limits. A change takes effect immediately.
  LimitEntry* find(LimitKind kind, std::string_view name);
  const LimitEntry* find(LimitKind kind, std::string_view name) const;
  LimitEntry& set(const Limit& limit, Time now);
  // Sets the gate of a queue; without bounds, removes it.
  void set_queue(QueueEntry& queue, const LimitSettings& settings, Time now);
  void attach_type(LimitEntry& entry, TypeLane& pair);
  // The caller has counted the jobs of a new gate.
  void counted(Gate& gate, Time now) { relist(gate, now); }
  // The limit's jobs become free.
  void remove(LimitEntry& entry);
  // Nothing passes the gate until `until`; none: ends the slowdown.
  void slow_down(LimitEntry& entry, const SharedBytes& key, std::optional<Time> until, Time now);
  void turn_breaker(LimitEntry& entry, const SharedBytes& key, std::optional<Time> open_until,
                    Time now);
  // Visits limits in order of kind and name.
  template <typename Visit>
  void each(Visit visit) const {
    for (const auto& [name, entry] : entries_) visit(*entry);
  }
  // Visits deleted limits whose gates still have lanes.
  template <typename Visit>
  void each_dropped(Visit visit) const {
    for (const auto& entry : dropped_) visit(*entry);
  }
  // Visits limits of a kind, starting after `after`, until `visit` returns false.
  template <typename Visit>
  void walk(LimitKind kind, std::string_view after, Visit visit) const {
    for (auto at = entries_.upper_bound(name_of(kind, after)); at != entries_.end(); ++at) {
      if (at->second->limit.kind != kind || !visit(*at->second)) return;
    }
  }
  std::size_t count(LimitKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  bool has_room_for(const LimitEntry&, std::string_view key, std::size_t most, Time now) const;

  // --- Jobs.
  // The lane of jobs with these properties; with `again`, of those that have started before. Each
  // acquire() needs a release().
  TypeLane& acquire(QueueEntry& queue, const SharedBytes& type, const JobExtras* extras,
                    bool again);
  void release(TypeLane& lane);
  // The others are for lanes with `gated` only. `now` never goes back from call to call.
  void insert(TypeLane& lane, const ReadyKey& key, Time since, Time now);
  void erase(TypeLane& lane, const ReadyKey& key, Time since, Time now);
  void count_unfinished(TypeLane& lane, bool more);
  void lease_began(TypeLane& lane, Time started_at, Time now);
  void lease_ended(TypeLane& lane, Time started_at, Time now);
  // Counts the attempt for breakers. Call it before applying the breaker turns that it causes.
  void count_attempt(TypeLane& lane, bool good, Time started_at, Time now);
  std::vector<BreakerTurned> turns_after(const TypeLane& lane, bool good, Time started_at,
                                         Time now) const;
  // --- Fair keys; for lanes that have one (fair_lanes.cc).
  // The lane's key starts a job. Returns the amount charged, for attempt_ended(). charged() lists
  // the key's stands again by the new tag, after the job has left its lane.
  std::uint32_t charge(TypeLane& lane, std::int16_t priority, Time now);
  static void charged(TypeLane& lane);
  void attempt_ended(TypeLane& lane, std::int16_t priority, std::uint32_t charged_ms, Duration ran,
                     Time now);
  void count_running(TypeLane& lane, std::int16_t priority, bool more);
  // Call before and after each event.
  void settle_fair();
  bool fair_touched() const { return !touched_.empty(); }
  // The queue no longer shares fairly, or is deleted.
  void forget(const FairQueue& queue);
  void take_means(const FairQueue& old, FairQueue& queue);
  void load_fair(FairQueue& queue, const BucketRow& row);
  void take_fair(Time now, std::vector<BucketRow>& rows);

  // CHECKs that the gates are open, and takes the cost from the buckets. Call before lease_began().
  void start(TypeLane& lane, Time now);
  // Moves the lane to the closed gate that holds it.
  void move_on(TypeLane& lane, Time now);

  // --- Time.
  std::optional<Time> next_timer() const {
    return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->at);
  }
  // Opens at most `most` gates that are due.
  void open_due(Time now, std::size_t most);

  // Queues whose gates have opened, possibly with duplicates; the caller empties it.
  std::vector<QueueEntry*> opened;
  // Queues in which a claim stopped early at closed gates.
  std::vector<QueueEntry*> unsettled;

  // --- Shares (gates_shares.cc). Messages are not durable; they are repeated.
  static Bounds bounds_of(const LimitEntry& entry, std::string_view key);
  void take_share(LimitEntry& entry, const SharedBytes& key, const Share& share,
                  std::optional<std::uint64_t> level, Time now);
  Gate& gate_for_book(LimitEntry& entry, const SharedBytes& key) { return gate_of(entry, key); }
  void set_book(Gate& gate, std::optional<ShareBook> book, Time now);
  void report_soon(Gate& gate, Time now);
  // Reports a gate that does not exist; the caller fills in the report.
  void report_missing(ShareReport report) { orphans_.push_back(std::move(report)); }
  static ShareReport report_of(const LimitEntry& entry, const SharedBytes& key);
  void send_copy(LimitCopy copy) { copies_.push_back(std::move(copy)); }
  std::vector<LimitCopy> take_copies() { return std::exchange(copies_, {}); }
  std::vector<ShareReport> take_reports(Time now, std::size_t most);
  std::vector<SharePush> take_pushes(Time now, std::size_t most);
  std::optional<Time> next_share_message() const;
  // Books of keys in which no shard has anything.
  std::vector<Gate*> books_over(Time now, std::size_t most) const;
  std::optional<Time> next_book_over() const {
    return over_.empty() ? std::nullopt : std::optional(over_.begin()->at);
  }

  // --- The tables.
  void load(const BucketRow& row);
  // The rows that changed since the last call.
  std::vector<BucketRow> take_buckets(Time now);

  // For tests: recomputes where groups are listed, and CHECKs it.
  void check() const;
  void check(const Gate& gate) const;

 private:
  using Timers = absl::btree_set<GateTimer>;

  Bounds share_of(Gate& gate, const Bounds& whole);
  void load_shares(Gate& gate, const BucketRow& row, Time now);
  void plan_report(Gate& gate, Time now);
  void plan_book(Gate& gate, Time now);
  static std::string name_of(LimitKind kind, std::string_view name);
  Gate& gate_of(LimitEntry& entry, const SharedBytes& key);
  void apply_settings(Gate& gate, const std::optional<BreakerRule>& breaker_before, Time now);
  void fit_bucket(Gate& gate, const std::optional<Rate>& rate, Time now);
  // Null: retries need no more than first starts.
  Gate* retries_at(Gate& gate);
  std::optional<Time> settles_at(const Gate& gate, Time now) const;
  void settle(Gate& gate);
  void relist(Gate& gate, Time now);
  void set_timer(Gate& gate, Time now);
  void tell_opened(const Gate& gate);
  static void refresh(GateGroup& group);
  void join(TypeLane& lane, const LaneGate& at, Time now);
  void leave_group(TypeLane& lane, const ReadyKey& head);
  static absl::btree_set<LaneHead>& lanes_at(TypeLane& lane);
  static void enter_group(GateGroup& group, TypeLane& lane);
  static void exit_group(GateGroup& group, TypeLane& lane, const ReadyKey& head);
  static void reorder(TypeLane& lane, const ReadyKey& before);
  static void restand(FairStand& stand);
  static void retag(FairFlow& flow, std::uint64_t tag);
  void count_ready(TypeLane& lane, std::int16_t priority, bool more);
  void touch(FairKey& key);
  void place(TypeLane& lane, Time now);
  void note(Gate& gate);
  void forget_times(Gate& gate);
  void drop_if_idle(Gate& gate);
  void let_go_of(const LaneGates& gates);
  LaneGates gates_of(const JobLimits& limits, bool again);
  LimitedLane& lane_of(TypeLane& pair, LaneGates gates, FairKey* fair);
  template <typename Visit>
  static void each_gate(const TypeLane& lane, Visit visit);
  static void set(Time& entry, Time at, Gate& gate, Timers& timers);

  OrderedStringMap<std::unique_ptr<LimitEntry>> entries_;  // by kind and name
  absl::flat_hash_set<LanePtr, LaneHash, LaneEqual> lanes_;
  std::size_t counts_[3] = {};
  std::size_t keys_ = 0;                              // of all limits
  std::vector<std::unique_ptr<LimitEntry>> dropped_;  // kept while lanes hold their gates
  Timers timers_;                                     // gates that will open by time
  Timers filling_;                                    // stored gates, by when they become idle
  Timers reports_;                                    // gates whose share is due to be reported
  Timers pushes_;                                     // gates whose books have messages to send
  Timers over_;                                       // gates whose books may be removed
  std::vector<ShareReport> orphans_;
  std::vector<LimitCopy> copies_;
  std::uint32_t shard_ = 0;
  std::uint32_t shards_ = 1;
  std::vector<Gate*> dirty_;
  bool follows_ = false;
  std::vector<FairKey*> touched_;         // by the current event
  std::vector<FairQueue*> fair_changed_;  // whose stored rows are out of date
  std::uint64_t next_serial_ = 1;
  Time as_of_{};  // the latest time of a call
};

template <typename Visit>
void GateIndex::each_gate(const TypeLane& lane, Visit visit) {
  const TypeLane* plain = &lane;
  if (lane.limited != nullptr) {
    for (const LaneGate& at : lane.limited->gates) visit(*at.gate, at.cost);
    plain = lane.limited->pair;
  }
  if (plain->type_gate != nullptr) visit(*plain->type_gate, 1U);
  if (lane.queue->gate != nullptr) visit(*lane.queue->gate, 1U);
}

}  // namespace millrace::core
