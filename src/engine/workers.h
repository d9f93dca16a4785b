// The workers seen lately: what they said of themselves, and what they are to be told. In memory
// only; after a restart they are known again by their leases, and by what they ask.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "core/machine.h"
#include "engine/request.h"

namespace millrace::engine {

inline constexpr Duration kWorkerRemembered{5 * 60 * 1000};
inline constexpr std::size_t kMaxWorkers = 100'000;

// What the workers of a shard say of themselves may come to so many bytes, however many they are.
inline constexpr std::size_t kMaxWorkerBytes = std::size_t{32} << 20;

class Workers {
 public:
  explicit Workers(std::size_t max_bytes = kMaxWorkerBytes) : max_bytes_(max_bytes) {}

  // Past kMaxWorkers strangers are served, but not remembered; where bytes are short, labels are
  // not, then all but the id, then strangers.
  void seen(const WorkerInfo& info, Time now);
  // It asks for jobs. Where bytes are short it is not remembered of which queues and types.
  void claims(const core::Claim& claim);
  // It is at work, as a token of its own shows.
  void alive(std::string_view worker, Time now);

  // It has ended: known no longer than its leases last, unless it comes again.
  void leaves(std::string_view worker);

  WorkerState state(std::string_view worker) const;
  // Known at all: a state can be set.
  bool knows(std::string_view worker) const { return entries_.contains(worker); }
  // Of one that only its leases tell of.
  void introduce(const SharedBytes& worker, Time since);
  // Never back to kActive, nor from stopping to quiet.
  void set_state(std::string_view worker, WorkerState state);
  // For its next poll; dropped where it is not known, or there are too many: its heartbeats tell it
  // of cancellations too.
  void order(std::string_view worker, const WorkerOrder& order);
  // It has not been told all yet.
  bool has_news(std::string_view worker) const;
  // All that it is to be told: what it is to do as a whole every time, a job's cancellation once.
  std::vector<WorkerOrder> take_orders(std::string_view worker);

  // Drops those not seen for kWorkerRemembered, and those that have left, without a lease.
  void forget_stale(const core::Machine& machine, Time now);
  std::vector<WorkerView> list(const core::Machine& machine, Time now);
  WorkerView view(std::string_view worker, const core::Machine& machine) const;
  // About what it holds.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    WorkerInfo info;
    WorkerState state = WorkerState::kActive;
    std::vector<SharedBytes> queues;
    std::vector<SharedBytes> types;
    Time first_seen_at{};
    Time last_seen_at{};
    std::vector<WorkerOrder> orders;
    bool state_told = true;
    bool has_left = false;
    std::size_t bytes = 0;  // of this entry, in bytes_
  };
  Entry* find(std::string_view worker);
  Entry* add(std::string_view worker, Time now);  // null: there is no room for it
  static std::size_t bytes_of(const Entry& entry);
  // It has changed. False: there is no room for it as it is now; it is counted all the same.
  bool count(Entry& entry);

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  absl::btree_map<std::string, Entry, std::less<>> entries_;
};

}  // namespace millrace::engine
