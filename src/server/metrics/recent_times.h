// Durations of the newest operations of a kind, so that percentiles describe the present and not
// last week.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/mutex.h"

namespace millrace::server {

// Thread-safe. add() holds a lock only briefly.
class RecentTimes {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kKept = 2'048;
  static constexpr auto kAge = std::chrono::minutes(5);

  struct Summary {
    std::size_t count = 0;
    std::chrono::nanoseconds p50{}, p99{}, max{};
  };

  void add(std::chrono::nanoseconds took, Clock::time_point now = Clock::now()) {
    const MutexLock lock(mutex_);
    entries_[next_++ % kKept] = {now, took};
  }

  // Summarises the entries not older than kAge, at most the last kKept; none if there are none.
  std::optional<Summary> summary(Clock::time_point now = Clock::now()) const {
    std::vector<std::chrono::nanoseconds> times;
    {
      const MutexLock lock(mutex_);
      for (std::size_t i = 0; i < std::min(next_, kKept); ++i) {
        if (now - entries_[i].at <= kAge) times.push_back(entries_[i].took);
      }
    }
    if (times.empty()) return std::nullopt;
    std::ranges::sort(times);
    const auto at = [&](std::size_t percent) { return times[(times.size() - 1) * percent / 100]; };
    return Summary{times.size(), at(50), at(99), times.back()};
  }

 private:
  struct Entry {
    Clock::time_point at{};
    std::chrono::nanoseconds took{};
  };
  mutable Mutex mutex_;
  std::array<Entry, kKept> entries_ MILLRACE_GUARDED_BY(mutex_){};
  std::size_t next_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::server
