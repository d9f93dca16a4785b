// Submissions that wait because the tables can't keep up, in the order in which they came. Claims
// and what ends jobs never wait here.
//
// What comes while a flush is due or written makes the next one, so flushes grow where more comes
// than they can take. A submission waits four times as long as that has taken beyond kMayTake, at
// most kLongest: a producer that awaits its answers becomes slower until both are equally fast, and
// the tables are behind by about two flushes. Nobody is refused for it. One thread, one owner.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/time.h"

namespace millrace::node {

template <typename Item>
class SlowLane {
 public:
  static constexpr Duration kMayTake{200};
  static constexpr Duration kLongest{1'000};

  // How long one is to wait that comes when a flush has been due, or written, for so long.
  static Duration delay(Duration taken) {
    return std::clamp(4 * (taken - kMayTake), Duration{0}, kLongest);
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

}  // namespace millrace::node
