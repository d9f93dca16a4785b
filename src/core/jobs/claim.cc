// Claims: the next jobs of the named queues, in order, as leases.

#include <algorithm>

#include "base/mutant.h"
#include "core/bounds.h"
#include "core/decider.h"
#include "core/flow/gated_walk.h"

namespace millrace::core {

bool is_past_expiry(const JobSlot& slot, Time now) {
  const Activity* activity = slot.activity.get();
  return activity != nullptr && activity->expires_at && !slot.started() &&
         *activity->expires_at <= now;
}

std::size_t count_claimable(const ShardState& state, std::string_view queue_name,
                            const std::vector<SharedBytes>& types, Time now, std::size_t most) {
  const QueueEntry* queue = state.find_queue(queue_name);
  std::size_t count = 0;
  std::size_t expired = 0;
  if (queue == nullptr || queue->paused || most == 0) return count;
  if (queue->ready.gated()) {
    TakenMap taken;
    GatedWalk walk(*queue, types, now, taken, kMaxHeldBackPerClaim);
    while (count < most && expired <= kMaxExpiredPerClaim) {
      const auto found = walk.next();
      if (!found) break;
      if (is_past_expiry(state.slots.at(found->key.slot), now)) {
        ++expired;
      } else {
        walk.start(*found);
        ++count;
      }
    }
    return count;
  }
  queue->ready.walk(types, [&](const ReadyKey& key) {
    if (is_past_expiry(state.slots.at(key.slot), now)) return ++expired <= kMaxExpiredPerClaim;
    return ++count < most;
  });
  return count;
}

namespace {

Claimed::Item claimed_item(const JobSlot& slot, const Claim& command, LeaseToken token, Time now) {
  const Activity* activity = slot.activity.get();
  Claimed::Item item;
  item.job = to_ref(slot);
  ++item.job.attempt;
  item.token = token;
  item.length = command.lease.value_or(Duration{slot.lease_ms});
  item.expires_at = add_saturating(now, item.length);
  if (activity != nullptr && activity->timeout) {
    item.deadline = add_saturating(now, *activity->timeout);
    item.expires_at = std::min(item.expires_at, *item.deadline);
  }
  item.waited = std::max(Duration{0}, now - ready_since(slot));
  return item;
}

}  // namespace

Reply Decider::operator()(const Claim& command) {
  Claimed claimed;
  claimed.worker = command.worker;
  std::vector<JobId> expired;
  std::uint64_t token = state_.facts.next_token;
  std::uint64_t bytes = 0;  // of payloads
  bool full = false;
  std::vector<SlotIndex> slots;         // of the jobs claimed
  std::vector<const QueueEntry*> seen;  // queues that had jobs
  TakenMap taken;
  std::vector<TypeLane*> held_back;
  std::vector<QueueEntry*> cut_short;
  // Hands the job out, or ends it if it has expired. kNothing: the claim has enough.
  enum class Took : std::uint8_t { kJob, kExpired, kNothing };
  const auto take = [&](const ReadyKey& key) {
    const JobSlot& slot = state_.slots.at(key.slot);
    if (is_past_expiry(slot, now_)) {
      if (expired.size() >= kMaxExpiredPerClaim) return Took::kNothing;
      expired.push_back(slot.id);
      return Took::kExpired;
    }
    full = !claimed.items.empty() && bytes + slot.payload_bytes > options_.max_claim_bytes &&
           !mutated(Mutant::kClaimUnbounded);
    if (full) return Took::kNothing;
    bytes += slot.payload_bytes;
    claimed.items.push_back(claimed_item(slot, command, LeaseToken{token++}, now_));
    slots.push_back(key.slot);
    return Took::kJob;
  };
  for (const SharedBytes& name : command.queues) {
    if (full) break;
    const QueueEntry* queue = state_.find_queue(name.view());
    if (queue == nullptr || queue->paused || queue->ready.size() == 0) continue;
    if (std::ranges::find(seen, queue) != seen.end()) continue;  // named twice
    seen.push_back(queue);
    if (queue->ready.gated()) {
      open_gates(mutable_state_, now_);
      GatedWalk walk(*queue, command.types, now_, taken, options_.max_held_back);
      while (!(full = claimed.items.size() >= command.limit)) {
        const auto found = walk.next();
        const Took took = found ? take(found->key) : Took::kNothing;
        if (took == Took::kNothing) break;
        if (took == Took::kJob) walk.start(*found);
      }
      held_back.insert(held_back.end(), walk.held_back().begin(), walk.held_back().end());
      if (walk.cut_short()) cut_short.push_back(mutable_state_.queues.find_entry(name.view()));
      continue;
    }
    queue->ready.walk(command.types, [&](const ReadyKey& key) {
      full = claimed.items.size() >= command.limit;
      return !full && take(key) != Took::kNothing;
    });
  }
  for (const JobId& id : expired) {
    const JobSlot& slot = state_.slots.at(state_.find(id));
    emit(Expired{to_ref(slot), keep(slot, State::kExpired)});
  }
  ClaimReply reply;
  if (!claimed.items.empty()) emit(std::move(claimed));
  // The position of a lane is not part of the state that events change: see gates.h.
  GateIndex& gates = mutable_state_.gates;
  for (TypeLane* const lane : held_back) gates.move_on(*lane, now_);
  gates.unsettled.insert(gates.unsettled.end(), cut_short.begin(), cut_short.end());
  if (!gates.opened.empty()) wake_opened(mutable_state_);
  reply.jobs.reserve(slots.size());
  for (const SlotIndex index : slots) reply.jobs.push_back({to_job(state_.slots.at(index))});
  return reply;
}

}  // namespace millrace::core
