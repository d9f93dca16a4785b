// Series of counts and times: an unfinished chunk for each of three slot lengths. Full chunks are
// blobs of the tables (statistics_blob.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "base/time.h"
#include "engine/statistics/statistics.h"

namespace millrace::engine {

// Of milliseconds. Blobs store bucket numbers, so they must not change.
using Histogram = millrace::Histogram<4, std::uint32_t>;

struct StatisticsSlot {
  std::int64_t index = 0;  // time / length
  EventCounts counts{};
  Histogram wait;
  Histogram run;

  void merge(const StatisticsSlot& other);
};

// The subject of a series.
enum class SeriesFamily : std::uint8_t { kQueue, kType, kPair, kFairKey, kTag };
inline constexpr std::size_t kSeriesFamilies = 5;

// From fine to coarse. A chunk is the unit of storage; `chunks` of them are kept.
struct SlotLength {
  Duration length{};
  std::int64_t slots = 0;  // per chunk
  std::int64_t chunks = 0;
  std::size_t bytes = 0;  // the most for a chunk's blob, over all shards

  Duration chunk() const { return length * slots; }
  Duration kept() const { return chunk() * chunks; }
};
inline constexpr std::array<SlotLength, 3> kSlotLengths = {
    {{Duration{1'000}, 60, 60, std::size_t{256} << 10},
     {Duration{60'000}, 60, 48, std::size_t{512} << 10},
     {Duration{3'600'000}, 24, 90, std::size_t{1} << 20}}};
inline constexpr std::size_t kLengths = kSlotLengths.size();

// The name of a chunk's blob. Names sort by `number`.
std::string chunk_name(SeriesFamily family, std::size_t length, std::int64_t number);

// The unfinished chunks of one series.
class StatisticsSeries {
 public:
  // `second`: not before those already added. Two slots of the same second are summed.
  void add(const StatisticsSlot& second);
  void merge(const StatisticsSeries& other);
  const std::vector<StatisticsSlot>& slots(std::size_t length) const { return slots_[length]; }
  void clear(std::size_t length) { slots_[length] = {}; }
  // Adds a stored slot, whose index must be above those already present.
  void restore(std::size_t length, StatisticsSlot slot) {
    slots_[length].push_back(std::move(slot));
  }
  bool empty() const;
  std::size_t histogram_entries() const;
  void drop_histograms();

 private:
  StatisticsSlot& at(std::size_t length, std::int64_t index);

  std::array<std::vector<StatisticsSlot>, kLengths> slots_;  // by index; without empty slots
};

}  // namespace millrace::engine
