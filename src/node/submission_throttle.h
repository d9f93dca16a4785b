// Holds submissions while the tables cannot keep up, in order of arrival. Claims, and requests that
// end jobs, never wait here.
//
// Jobs that arrive while a flush is due or running go into the next flush, so flushes grow if more
// jobs arrive than they can write. A submission waits four times as long as the flush has exceeded
// kMayTake, at most kLongest. So a producer that waits for its answers slows down until both are
// equally fast, and the tables lag by about two flushes. No submission is refused. One thread, one
// owner.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/time.h"

namespace millrace::node {

template <typename Item>
class SubmissionThrottle {
 public:
  static constexpr Duration kMayTake{200};
  static constexpr Duration kLongest{1'000};

  // The delay of a submission when a flush has been due or running for `taken`.
  static Duration delay(Duration taken) {
    return std::clamp(4 * (taken - kMayTake), Duration{0}, kLongest);
  }

  // Holds `item` until `until`, or longer: items never overtake each other.
  void hold(Item item, Time until) {
    if (!held_.empty()) until = std::max(until, held_.back().until);
    held_.push_back({until, std::move(item)});
  }
  // The next item whose delay is over.
  std::optional<Item> take(Time now) {
    if (held_.empty() || held_.front().until > now) return std::nullopt;
    std::optional<Item> item = std::move(held_.front().item);
    held_.pop_front();
    return item;
  }
  // When the next item's delay ends.
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
