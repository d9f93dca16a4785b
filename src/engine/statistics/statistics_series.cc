#include "engine/statistics/statistics_series.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::engine {

void StatisticsSlot::merge(const StatisticsSlot& other) {
  for (std::size_t i = 0; i < kCountedEvents; ++i) counts[i] += other.counts[i];
  wait.merge(other.wait);
  run.merge(other.run);
}

std::string chunk_name(SeriesFamily family, std::size_t length, std::int64_t number) {
  constexpr std::string_view kFamilies = "qtpfg";
  constexpr std::string_view kLengthLetters = "smh";
  return fmt::format("{}series/{}{}/{:012}", kModelBlobs,
                     kFamilies[static_cast<std::size_t>(family)], kLengthLetters[length], number);
}

StatisticsSlot& StatisticsSeries::at(std::size_t length, std::int64_t index) {
  std::vector<StatisticsSlot>& slots = slots_[length];
  auto found = slots.end();
  while (found != slots.begin() && std::prev(found)->index >= index) --found;
  if (found == slots.end() || found->index != index) {
    found =
        slots.insert(found, StatisticsSlot{.index = index, .counts = {}, .wait = {}, .run = {}});
  }
  return *found;
}

void StatisticsSeries::add(const StatisticsSlot& second) {
  const Duration begin = second.index * kSlotLengths[0].length;
  for (std::size_t length = 0; length < kLengths; ++length) {
    at(length, begin / kSlotLengths[length].length).merge(second);
  }
}

void StatisticsSeries::merge(const StatisticsSeries& other) {
  for (std::size_t length = 0; length < kLengths; ++length) {
    for (const StatisticsSlot& slot : other.slots_[length]) at(length, slot.index).merge(slot);
  }
}

bool StatisticsSeries::empty() const {
  return std::ranges::all_of(slots_, [](const auto& slots) { return slots.empty(); });
}

std::size_t StatisticsSeries::histogram_entries() const {
  std::size_t entries = 0;
  for (const auto& slots : slots_) {
    for (const StatisticsSlot& slot : slots) {
      entries += slot.wait.entries().size() + slot.run.entries().size();
    }
  }
  return entries;
}

void StatisticsSeries::drop_histograms() {
  for (auto& slots : slots_) {
    for (StatisticsSlot& slot : slots) {
      slot.wait.clear();
      slot.run.clear();
    }
  }
}

}  // namespace millrace::engine
