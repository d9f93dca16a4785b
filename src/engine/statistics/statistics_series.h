// One series of statistics: rings of slots. A slot exists only if something happened in it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "base/histogram.h"
#include "base/time.h"
#include "engine/statistics/statistics.h"

namespace millrace::engine {

// Of milliseconds. Blobs store bucket numbers (statistics_blob.h), so they must not change.
using Histogram = millrace::Histogram<4, std::uint32_t>;

struct StatisticsSlot {
  std::int64_t index = 0;  // time / length
  std::array<std::uint32_t, kCountedEvents> counts{};
  Histogram wait;
  Histogram run;

  void merge(const StatisticsSlot& other);
};

struct StatisticsRing {
  Duration length{};  // of a slot
  std::int64_t kept = 0;
  std::deque<StatisticsSlot> slots;  // by index

  // The slot of an index, which must not be before the last slot's.
  StatisticsSlot& at(std::int64_t index);
  void merge(const StatisticsRing& other);
};

class StatisticsSeries {
 public:
  // From fine to coarse; a query reads the ring that fits its window.
  static constexpr std::size_t kRings = 3;
  static constexpr std::array<Duration, kRings> kLengths{Duration{1'000}, Duration{10'000},
                                                         Duration{60'000}};
  static constexpr std::array<std::int64_t, kRings> kKept{15 * 60, 6 * 360, 72 * 60};

  StatisticsSeries();

  void count(CountedEvent what, Time at) { ++open_at(at).counts[static_cast<std::size_t>(what)]; }
  void waited(Duration by, Time at) { open_at(at).wait.record(by.count()); }
  void ran(Duration by, Time at) { open_at(at).run.record(by.count()); }

  // Visits each slot of the ring, and the current second: `visit(Time begin, const
  // StatisticsSlot&)`.
  template <typename Visit>
  void each_slot(std::size_t ring, const Visit& visit) const {
    for (const StatisticsSlot& slot : rings_[ring].slots) {
      visit(Time{slot.index * rings_[ring].length}, slot);
    }
    if (open_) visit(Time{open_->index * kLengths[0]}, *open_);
  }

  // Moves the current second into the rings. It may be opened again.
  void close();
  // Adds everything that the other series counted.
  void merge(StatisticsSeries other);
  bool empty() const;
  std::array<StatisticsRing, kRings>& rings() { return rings_; }
  const std::array<StatisticsRing, kRings>& rings() const { return rings_; }
  std::size_t histogram_entries() const;
  // Drops the oldest quarter of the percentiles of the coarsest ring that has any.
  void shed();

 private:
  StatisticsSlot& open_at(Time at);

  std::array<StatisticsRing, kRings> rings_;
  std::optional<StatisticsSlot> open_;
};

}  // namespace millrace::engine
