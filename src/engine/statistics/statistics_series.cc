#include "engine/statistics/statistics_series.h"

#include <algorithm>
#include <utility>

namespace millrace::engine {

void StatisticsSlot::merge(const StatisticsSlot& other) {
  for (std::size_t i = 0; i < kCountedEvents; ++i) counts[i] += other.counts[i];
  wait.merge(other.wait);
  run.merge(other.run);
}

StatisticsSlot& StatisticsRing::at(std::int64_t index) {
  if (slots.empty() || slots.back().index < index) {
    slots.emplace_back().index = index;
    while (slots.front().index <= index - kept) slots.pop_front();
  }
  return slots.back();
}

void StatisticsRing::merge(const StatisticsRing& other) {
  const std::deque<StatisticsSlot> mine = std::exchange(slots, {});
  auto next = other.slots.begin();
  for (const StatisticsSlot& slot : mine) {
    for (; next != other.slots.end() && next->index <= slot.index; ++next) {
      at(next->index).merge(*next);
    }
    at(slot.index).merge(slot);
  }
  for (; next != other.slots.end(); ++next) at(next->index).merge(*next);
}

StatisticsSeries::StatisticsSeries() {
  for (std::size_t i = 0; i < kRings; ++i) rings_[i] = {kLengths[i], kKept[i], {}};
}

StatisticsSlot& StatisticsSeries::open_at(Time at) {
  const std::int64_t index = at.time_since_epoch() / kLengths[0];
  if (open_ && open_->index < index) close();
  if (!open_) open_.emplace().index = index;
  return *open_;
}

void StatisticsSeries::close() {
  if (!open_) return;
  const Duration begin = open_->index * kLengths[0];
  for (StatisticsRing& ring : rings_) ring.at(begin / ring.length).merge(*open_);
  open_.reset();
}

void StatisticsSeries::merge(StatisticsSeries other) {
  close();
  other.close();
  for (std::size_t i = 0; i < kRings; ++i) rings_[i].merge(other.rings_[i]);
}

bool StatisticsSeries::empty() const {
  return !open_ &&
         std::ranges::all_of(rings_, [](const StatisticsRing& ring) { return ring.slots.empty(); });
}

std::size_t StatisticsSeries::histogram_entries() const {
  std::size_t entries = 0;
  for (const StatisticsRing& ring : rings_) {
    for (const StatisticsSlot& slot : ring.slots) {
      entries += slot.wait.entries().size() + slot.run.entries().size();
    }
  }
  return entries;
}

void StatisticsSeries::shed() {
  const auto holds_some = [](const StatisticsSlot& slot) {
    return !slot.wait.entries().empty() || !slot.run.entries().empty();
  };
  for (auto ring = rings_.rbegin(); ring != rings_.rend(); ++ring) {
    auto left = (std::ranges::count_if(ring->slots, holds_some) + 3) / 4;
    if (left == 0) continue;
    for (StatisticsSlot& slot : ring->slots) {
      if (!holds_some(slot)) continue;
      slot.wait.clear();
      slot.run.clear();
      if (--left == 0) return;
    }
  }
}

}  // namespace millrace::engine
