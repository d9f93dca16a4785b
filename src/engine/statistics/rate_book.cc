#include "engine/statistics/rate_book.h"

#include <cmath>

namespace millrace::engine {
namespace {

constexpr std::size_t kMaxQueues = 20'000;

}  // namespace

Rates::Slot& Rates::at_time(Time time) {
  const std::int64_t index = time.time_since_epoch() / kLength;
  Slot& slot = slots_[static_cast<std::size_t>(index % kSlots)];
  if (slot.index != index) slot = {index, {}};
  return slot;
}

Rates::RunSlot& Rates::run_at(std::int64_t index) {
  RunSlot& slot = runs_[static_cast<std::size_t>(index % kRunSlots)];
  if (slot.index != index) slot = {index, 0, 0};
  return slot;
}

void Rates::ran(Duration by, Time at) {
  RunSlot& slot = run_at(at.time_since_epoch() / kRunLength);
  slot.sum_ms += by.count();
  ++slot.ended;
}

void Rates::restore_counts(const StatisticsSlot& second) {
  Slot& slot = at_time(Time{second.index * kSlotLengths[0].length});
  for (std::size_t i = 0; i < kCountedEvents; ++i) {
    slot.counts[i] += static_cast<std::uint32_t>(second.counts[i]);
  }
}

void Rates::restore_runs(const StatisticsSlot& minute) {
  RunSlot& slot = run_at(minute.index);
  for (const auto& [bucket, count] : minute.run.entries()) {
    slot.sum_ms += Histogram::middle_of(bucket) * count;
    slot.ended += count;
  }
}

QueueRates Rates::rates(Time now) const {
  const std::int64_t newest = now.time_since_epoch() / kLength;
  std::array<double, kCountedEvents> sums{};
  for (const Slot& slot : slots_) {
    if (slot.index <= newest - kSlots || slot.index > newest) continue;
    for (std::size_t i = 0; i < kCountedEvents; ++i) sums[i] += slot.counts[i];
  }
  constexpr double kSeconds = 60;
  return {sums[0] / kSeconds, sums[1] / kSeconds, sums[2] / kSeconds, sums[3] / kSeconds};
}

std::optional<Duration> Rates::mean_run(Time now) const {
  const std::int64_t newest = now.time_since_epoch() / kRunLength;
  double sum = 0;
  double ended = 0;
  for (const RunSlot& slot : runs_) {
    if (slot.index <= newest - kRunSlots || slot.index > newest) continue;
    sum += static_cast<double>(slot.sum_ms);
    ended += static_cast<double>(slot.ended);
  }
  if (ended == 0) return std::nullopt;
  return Duration{std::llround(sum / ended)};
}

Rates* RateBook::of(std::string_view queue) {
  const auto found = queues_.find(queue);
  if (found != queues_.end()) return &found->second;
  if (queues_.size() >= kMaxQueues) return nullptr;
  return &queues_.try_emplace(std::string(queue)).first->second;
}

QueueRates RateBook::rates(std::string_view queue, Time now) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? QueueRates{} : found->second.rates(now);
}

std::optional<Duration> RateBook::mean_run(std::string_view queue, Time now) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? std::nullopt : found->second.mean_run(now);
}

}  // namespace millrace::engine
