// Submissions that wait because the tables are behind, in the order in which they came. Claims and
// what ends jobs never wait here.
//
// A submission waits as long as the tables are behind beyond kMayBeBehind, at most kLongest: the
// further they fall behind, the slower a producer that awaits its answers becomes, until both are
// equally fast. Nobody is refused for it. One thread, one owner.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/time.h"

namespace millrace::server {

template <typename Item>
class SlowLane {
 public:
  static constexpr Duration kMayBeBehind{1'200};
  static constexpr Duration kLongest{1'000};

  // How long one is to wait that comes while the tables are `behind`.
  static Duration delay(Duration behind) {
    return std::clamp(behind - kMayBeBehind, Duration{0}, kLongest);
  }

  // Until `until`, or longer: none overtakes another.
  void hold(Item item, Time until) {
    if (!held_.empty()) until = std::max(until, held_.back().until);
    held_.push_back({until, std::move(item)});
  }
  // The next one whose time has come.
  std::optional<Item> take(Time now) {
    if (held_.empty() || held_.front().until > now) return std::nullopt;
    std::optional<Item> item = std::move(held_.front().item);
    held_.pop_front();
    return item;
  }
  // When the next one's time comes.
  std::optional<Time> next() const {
    return held_.empty() ? std::nullopt : std::optional(held_.front().until);
  }

 private:
  struct Held {
    Time until{};
    Item item;
  };
  std::deque<Held> held_;
};

}  // namespace millrace::server
