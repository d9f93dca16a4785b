// The activity of each queue in the last minute, and the running times of its attempts in the last
// ten minutes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/node_hash_map.h"
#include "base/time.h"
#include "core/string_map.h"
#include "engine/statistics/statistics_series.h"

namespace millrace::engine {

class Rates {
 public:
  void count(std::size_t what, Time at) { ++at_time(at).counts[what]; }
  void ran(Duration by, Time at);
  // Restores a queue's stored slots, in order.
  void restore_counts(const StatisticsSlot& second);
  void restore_runs(const StatisticsSlot& minute);

  QueueRates rates(Time now) const;
  std::optional<Duration> mean_run(Time now) const;

 private:
  static constexpr Duration kLength{2'000};
  static constexpr std::int64_t kSlots = 30;
  static constexpr Duration kRunLength{60'000};
  static constexpr std::int64_t kRunSlots = 10;
  struct Slot {
    std::int64_t index = -1;
    std::array<std::uint32_t, kCountedEvents> counts{};
  };
  struct RunSlot {
    std::int64_t index = -1;
    std::int64_t sum_ms = 0;
    std::int64_t ended = 0;
  };
  Slot& at_time(Time time);
  RunSlot& run_at(std::int64_t index);

  std::array<Slot, kSlots> slots_;
  std::array<RunSlot, kRunSlots> runs_;
};

class RateBook {
 public:
  // Null: there are too many queues.
  Rates* of(std::string_view queue);
  QueueRates rates(std::string_view queue, Time now) const;
  std::optional<Duration> mean_run(std::string_view queue, Time now) const;
  void clear() { queues_.clear(); }

 private:
  // Nodes: accounts point to them.
  absl::node_hash_map<std::string, Rates, StringHash, std::equal_to<>> queues_;
};

}  // namespace millrace::engine
