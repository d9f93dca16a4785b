// A queue as the machine holds it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "core/flow/fair.h"
#include "core/jobs/ready_index.h"
#include "core/operations/pace.h"
#include "core/queues/queue.h"

namespace millrace::core {

struct QueueEntry {
  explicit QueueEntry(SharedBytes queue_name) : name(std::move(queue_name)), ready(this) {}

  // The members that a look-up and a claim read first are adjacent.
  SharedBytes name;
  bool paused = false;
  bool dirty = false;               // in the list of changes
  bool woken = false;               // in the list of woken queues
  Gate* gate = nullptr;             // null: the queue has no bounds of its own
  std::int64_t ageing_ms = 0;       // the worth of one step of priority; 0: priority is strict
  std::unique_ptr<FairQueue> fair;  // null: the queue does not share fairly
  ReadyIndex ready;
  QueueSettings settings;
  SharedBytes pause_reason;
  std::uint64_t version = 1;
  StateCounts counts{};
  StateCounts loaded{};  // jobs that recovery has loaded, to be compared with `counts`
  std::uint64_t created = 0;
  std::uint64_t pruned = 0;
  Pace pace;  // only with a max_ready

  std::uint64_t& count(State state) { return counts[static_cast<std::size_t>(state)]; }
  std::uint64_t count(State state) const { return counts[static_cast<std::size_t>(state)]; }
};

}  // namespace millrace::core
