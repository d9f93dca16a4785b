// The current and recent use of the fair keys of a queue.
#include <algorithm>
#include <vector>

#include "core/bounds.h"
#include "core/decider.h"
#include "core/flow/fair.h"

namespace millrace::core {

Reply Decider::operator()(const GetShares& command) {
  const QueueEntry* const queue = state_.find_queue(command.queue.view());
  if (queue == nullptr) return refused_limit(Rejection::kNotFound, RefusalDetail::kNameNeverUsed);
  LimitReply reply;
  if (queue->fair == nullptr) return reply;
  const FairQueue& fair = *queue->fair;
  // By time, a running attempt counts with its time so far.
  absl::flat_hash_map<const FairKey*, std::uint64_t> running_ms;
  std::uint64_t total = fair.given(now_);
  for (const TimerKey& lease : state_.leases) {
    const JobSlot& slot = state_.slots.at(lease.slot);
    if (!fair.by_time() || slot.lane->queue != queue) continue;
    const Duration ran =
        std::clamp(now_ - slot.activity->latest.started_at, Duration{0}, kShareWindow);
    running_ms[slot.lane->limited->fair()] += static_cast<std::uint64_t>(ran.count());
    total += static_cast<std::uint64_t>(ran.count());
  }
  const auto use_of = [&](const FairKey& key) {
    GateUse use;
    use.key = key.name;
    use.in_use = key.running;
    use.waiting = key.ready;
    use.weight = key.weight;
    const auto runs = running_ms.find(&key);
    const std::uint64_t given = (key.recent == nullptr ? 0 : key.recent->sum(now_)) +
                                (runs == running_ms.end() ? 0 : runs->second);
    if (total > 0) use.share_ppm = static_cast<std::uint32_t>(given * 1'000'000 / total);
    return use;
  };
  // A key kept only for its mean running time is listed while it has a share.
  const auto is_told = [&](const GateUse& use) {
    return use.in_use > 0 || use.waiting > 0 || use.share_ppm > 0;
  };
  if (command.busiest) {
    std::vector<const FairKey*> keys;
    fair.walk(std::nullopt, [&](const FairKey& key) {
      keys.push_back(&key);
      return true;
    });
    const auto most = static_cast<std::ptrdiff_t>(std::min(keys.size(), kBusiestKeys));
    std::partial_sort(keys.begin(), keys.begin() + most, keys.end(),
                      [](const FairKey* a, const FairKey* b) {
                        if (a->ready != b->ready) return a->ready > b->ready;
                        return a->name.view() < b->name.view();
                      });
    for (auto key = keys.begin(); key != keys.begin() + most; ++key) {
      if (const GateUse use = use_of(**key); is_told(use)) reply.keys.push_back(use);
    }
    return reply;
  }
  std::optional<std::string_view> after;
  if (!command.after.empty()) after = command.after.view().substr(1);
  fair.walk(after, [&](const FairKey& key) {
    GateUse use = use_of(key);
    if (!is_told(use)) return true;
    if (reply.keys.size() == command.limit) {
      // The first key may be empty, but an empty `next` marks the end.
      reply.next = SharedBytes("=" + std::string(reply.keys.back().key.view()));
      return false;
    }
    reply.keys.push_back(std::move(use));
    return true;
  });
  return reply;
}

}  // namespace millrace::core
