// The recently seen workers: their self-descriptions, and the commands for them. In memory only;
// after a restart a worker is known again from its leases and its requests.
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

// The most bytes of the self-descriptions of all workers of a shard.
inline constexpr std::size_t kMaxWorkerBytes = std::size_t{32} << 20;

// True: only the id is known, as in a poll without a claim, or when bytes are short.
inline bool says_nothing(const WorkerInfo& info) {
  return info.host.empty() && !info.pid && info.sdk.empty() && info.version.empty() &&
         info.labels.empty();
}

class Workers {
 public:
  explicit Workers(std::size_t max_bytes = kMaxWorkerBytes) : max_bytes_(max_bytes) {}

  // Beyond kMaxWorkers, new workers are served but not remembered. When bytes are short, it first
  // drops labels, then everything but the id, and then does not remember new workers. True: its
  // version or its SDK is new.
  bool seen(const WorkerInfo& info, Time now);
  // The worker requests jobs. When bytes are short, its queues and types are not remembered.
  void claims(const core::Claim& claim);
  // The worker is alive: it has sent a valid token of its own.
  void alive(std::string_view worker, Time now);

  // The worker has ended: it is forgotten when its last lease is over, unless it returns.
  void leaves(std::string_view worker);

  WorkerState state(std::string_view worker) const;
  // Whether the worker is known, so that its state can be set.
  bool knows(std::string_view worker) const { return entries_.contains(worker); }
  // Adds a worker that is only known from its leases.
  void introduce(const SharedBytes& worker, Time since);
  // Never changes a state back to kActive, nor from stopping to quiet.
  void set_state(std::string_view worker, WorkerState state);
  // Keeps the command for the worker's next poll. Drops it if the worker is not known or has too
  // many; heartbeats report cancellations too.
  void add_command(std::string_view worker, const WorkerCommand& command);
  // Whether there are commands that were not sent yet.
  bool has_news(std::string_view worker) const;
  // All commands for the worker: those for the whole worker every time, a job's cancellation once.
  std::vector<WorkerCommand> take_commands(std::string_view worker);

  // Forgets workers that were not seen for kWorkerRemembered, and those that have left, if they
  // hold no lease.
  void forget_stale(const core::Machine& machine, Time now);
  std::vector<WorkerView> list(const core::Machine& machine, Time now);
  WorkerView view(std::string_view worker, const core::Machine& machine) const;
  // The approximate bytes that it holds.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    WorkerInfo info;
    WorkerState state = WorkerState::kActive;
    std::vector<SharedBytes> queues;
    std::vector<SharedBytes> types;
    Time first_seen_at{};
    Time last_seen_at{};
    std::vector<WorkerCommand> commands;
    bool state_told = true;
    bool has_left = false;
    std::size_t bytes = 0;  // of this entry, as counted in `bytes_`
  };
  Entry* find(std::string_view worker);
  Entry* add(std::string_view worker, Time now);  // null: there is no room
  static std::size_t bytes_of(const Entry& entry);
  // Recomputes the size of a changed entry. False: there is no room for its new size, which is
  // counted nevertheless.
  bool count(Entry& entry);

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  absl::btree_map<std::string, Entry, std::less<>> entries_;
};

}  // namespace millrace::engine
