// The reasons that hold a queue back: the closed gates that its ready jobs must pass.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/bounds.h"
#include "core/decider.h"

namespace millrace::core {
namespace {

// Visits the lanes of the queue that have limits and ready jobs. False: it stopped after `most`
// lanes, groups and keys.
template <typename Visit>
bool each_waiting_lane(const GateIndex& gates, const QueueEntry& queue, std::size_t most,
                       Visit visit) {
  std::size_t left = most;
  const auto of_lanes = [&](const absl::btree_set<LaneHead>& lanes) {
    for (const LaneHead& head : lanes) {
      if (left == 0) return;
      --left;
      visit(*head.lane);
    }
  };
  const auto of_gate = [&](const Gate& gate) {
    for (const auto& [name, group] : gate.groups) {
      if (left == 0) return;
      --left;
      if (group->pair->queue != &queue) continue;
      of_lanes(group->lanes);
      if (group->stands == nullptr) continue;
      for (const StandHead& head : *group->stands) of_lanes(head.stand->lanes);
    }
  };
  if (queue.fair != nullptr) of_gate(queue.fair->open);
  const auto of_limit = [&](const LimitEntry& entry) {
    if (left > 0) of_gate(*entry.whole);
    if (entry.whole->retries() != nullptr) of_gate(*entry.whole->retries());
    for (const auto& [key, gate] : entry.keys) {
      if (left == 0) return;
      --left;
      of_gate(*gate);
      if (gate->retries() != nullptr) of_gate(*gate->retries());
    }
  };
  gates.each(of_limit);
  // Deleted limits hold nothing back; their lanes move on when a claim next reaches them.
  gates.each_dropped(of_limit);
  return left > 0;
}

bool is_of_one_gate(const Blocker& a, const Blocker& b) {
  return a.code == b.code && a.kind == b.kind && a.limit == b.limit;
}

// The keys of a limit are added up.
void add_waiting(std::vector<Blocker>& all, std::vector<Blocker> closed, std::size_t ready) {
  for (Blocker& blocker : closed) {
    const auto known = std::ranges::find_if(
        all, [&](const Blocker& other) { return is_of_one_gate(blocker, other); });
    if (known == all.end()) {
      blocker.waiting = ready;
      all.push_back(std::move(blocker));
      continue;
    }
    known->waiting += ready;
    if (known->key == blocker.key) continue;
    known->key = {};
    known->until.reset();
    known->since.reset();
    known->in_use = known->bound = 0;
    known->text = {};
  }
}

}  // namespace

void Decider::tell_blocked_by(const QueueEntry& queue, QueueReply& reply) const {
  std::vector<Blocker>& blocking = reply.blocked_by;
  const std::uint64_t ready = queue.count(State::kReady);
  if (queue.paused) {
    Blocker& paused = blocking.emplace_back();
    paused.code = BlockCode::kQueuePaused;
    paused.text = queue.pause_reason;
    paused.waiting = ready;
  }
  reply.held_back = ready - queue.ready.size();
  if (reply.held_back > 0) {
    Blocker& ordered = blocking.emplace_back();
    ordered.code = BlockCode::kOrder;
    ordered.waiting = reply.held_back;
  }
  const auto look_at = [&](const TypeLane& lane) {
    if (lane.ready.empty()) return;
    std::vector<Blocker> closed;
    add_closed_gates(lane, closed, Holders::kLeftOut);
    if (!closed.empty()) reply.held_back += lane.ready.size();
    add_waiting(blocking, std::move(closed), lane.ready.size());
  };
  queue.ready.each_plain_lane(look_at);
  const bool whole = each_waiting_lane(state_.gates, queue, kMaxLanesLookedAt, look_at);
  if (queue.paused) reply.held_back = ready;
  std::ranges::sort(blocking, [](const Blocker& a, const Blocker& b) {
    if (a.waiting != b.waiting) return a.waiting > b.waiting;
    return std::tuple(a.code, a.kind, a.limit.view()) < std::tuple(b.code, b.kind, b.limit.view());
  });
  if (blocking.size() > kMaxBlockersTold) blocking.resize(kMaxBlockersTold);
  for (Blocker& blocker : blocking) {
    blocker.more =
        !whole && blocker.code != BlockCode::kQueuePaused && blocker.code != BlockCode::kOrder;
  }
}

}  // namespace millrace::core
