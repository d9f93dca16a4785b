#include "server/metrics/queue_sampler.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <thread>

#include "server/metrics/metric_snapshot.h"
#include "service/scale.h"

namespace millrace::server {
namespace {

using SteadyClock = std::chrono::steady_clock;

}  // namespace

template <typename Reply, typename Command>
std::optional<Reply> QueueSampler::ask(engine::Gateway& gateway, const Command& command) {
  const auto begin = SteadyClock::now();
  auto reply = ask_(gateway, core::Command(command));
  // Leave the shard as much time for other requests.
  std::this_thread::sleep_for(SteadyClock::now() - begin);
  auto* const found = reply ? std::get_if<Reply>(&*reply) : nullptr;
  if (found == nullptr) return std::nullopt;
  return std::move(*found);
}

std::shared_ptr<const QueueSample> QueueSampler::fresh() const {
  const std::lock_guard lock(mutex_);
  if (last_ == nullptr) return nullptr;
  const auto rest = std::min<std::chrono::nanoseconds>(last_->took * kRest, kLongestRest);
  return SteadyClock::now() - last_->taken_at < rest ? last_ : nullptr;
}

std::shared_ptr<const QueueSample> QueueSampler::sample(
    const std::vector<std::shared_ptr<engine::Gateway>>& led, Time now) {
  if (auto have = fresh()) return have;
  std::unique_lock sampling(sampling_, std::try_to_lock);
  if (!sampling.owns_lock()) {
    {
      const std::lock_guard lock(mutex_);
      if (last_ != nullptr) return last_;
    }
    sampling.lock();
    if (auto have = fresh()) return have;
  }
  const auto begin = SteadyClock::now();
  auto made = std::make_shared<QueueSample>();
  for (const auto& gateway : led) {
    std::vector<core::Queue> queues = queues_of(*gateway);
    std::vector<core::LimitView> limits = limits_of(*gateway);
    look_closely(*gateway, queues, limits, now, *made);
    add_keys(*gateway, limits, *made);
    std::ranges::move(queues, std::back_inserter(made->queues));
    std::ranges::move(limits, std::back_inserter(made->limits));
  }
  made->taken_at = SteadyClock::now();
  made->took = made->taken_at - begin;
  const std::lock_guard lock(mutex_);
  last_ = made;
  return made;
}

std::vector<core::Queue> QueueSampler::queues_of(engine::Gateway& gateway) {
  std::vector<core::Queue> queues;
  core::GetQueues get{{}, {}, kSlice, true};
  do {
    auto found = ask<core::QueueReply>(gateway, get);
    if (!found) break;
    std::ranges::move(found->queues, std::back_inserter(queues));
    get.after = found->next;
  } while (!get.after.empty());
  return queues;
}

std::vector<core::LimitView> QueueSampler::limits_of(engine::Gateway& gateway) {
  std::vector<core::LimitView> limits;
  for (const core::LimitKind kind : {core::LimitKind::kNamed, core::LimitKind::kType}) {
    core::GetLimits get;
    get.kind = kind;
    do {
      auto found = ask<core::LimitReply>(gateway, get);
      if (!found) break;
      std::ranges::move(found->limits, std::back_inserter(limits));
      get.after = found->next;
    } while (!get.after.empty());
  }
  return limits;
}

void QueueSampler::add_keys(engine::Gateway& gateway, const std::vector<core::LimitView>& limits,
                            QueueSample& sample) {
  std::vector<const core::LimitView*> keyed;
  for (const core::LimitView& view : limits) {
    const bool has_keys = view.limit.settings.per_key && view.use.unfinished > 0;
    if (has_keys && view.use.unfinished <= kMostKeyed) keyed.push_back(&view);
  }
  std::ranges::sort(keyed, std::greater{},
                    [](const core::LimitView* view) { return view->use.waiting; });
  keyed.resize(std::min(keyed.size(), kKeyedLimits));
  for (const core::LimitView* const view : keyed) {
    core::GetLimits get;
    get.name = view->limit.name;
    get.detail = core::LimitDetail::kBusiestKeys;
    auto found = ask<core::LimitReply>(gateway, get);
    if (!found) return;
    found->keys.resize(std::min(found->keys.size(), kKeysEach));
    for (core::GateUse& use : found->keys) {
      sample.limit_keys.emplace_back(view->limit.name.view(), std::move(use));
    }
  }
}

// Fills in details of the fullest queues that have ready or running jobs.
void QueueSampler::look_closely(engine::Gateway& gateway, std::vector<core::Queue>& queues,
                                const std::vector<core::LimitView>& limits, Time now,
                                QueueSample& sample) {
  const auto find_limit = [&](std::string_view name) -> const core::LimitSettings* {
    const auto found = std::ranges::find_if(limits, [&](const core::LimitView& view) {
      return view.limit.kind == core::LimitKind::kNamed && view.limit.name.view() == name;
    });
    return found == limits.end() ? nullptr : &found->limit.settings;
  };
  for (const core::Queue* const queue : fullest(queues)) {
    const auto count = [&](core::State state) {
      return queue->counts[static_cast<std::size_t>(state)];
    };
    if (count(core::State::kReady) + count(core::State::kRunning) == 0) continue;
    core::GetQueues get{queue->name};
    get.blocked_by = true;
    auto whole = ask<core::QueueReply>(gateway, get);
    if (!whole || whole->queues.empty()) continue;
    const service::ScaleFigures figures =
        service::scale_figures(models_, whole->queues.front(), whole->held_back, find_limit, now);
    sample.desired_slots.emplace_back(queue->name.view(),
                                      service::scale_of(figures, {}).desired_slots);
    queues[static_cast<std::size_t>(queue - queues.data())] = std::move(whole->queues.front());
  }
}

}  // namespace millrace::server
