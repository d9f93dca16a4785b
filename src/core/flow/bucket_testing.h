// For tests: a token bucket that remembers every start.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/flow/limit.h"

namespace millrace::core {

class NaiveBucket {
 public:
  using Units = __int128;
  static Units units(const Rate& rate, Units tokens) { return tokens * rate.per.count(); }
  static Units capacity(const Rate& rate) { return units(rate, rate.burst.value_or(rate.limit)); }

  // The content of a bucket that started full: over every period up to now, its starts took at most
  // the burst and the tokens that came in during it.
  Units level(const Rate& rate, Time now) const {
    Units least = capacity(rate);
    Units taken = 0;
    for (auto start = starts_.rbegin(); start != starts_.rend(); ++start) {
      taken += start->units;
      const auto passed = std::max<std::int64_t>(0, (now - start->at).count());
      const Units came = static_cast<Units>(rate.limit) * passed;
      least = std::min(least, capacity(rate) + came - taken);
    }
    return least;
  }
  void take(const Rate& rate, Units tokens, Time now) {
    starts_.push_back({now, units(rate, tokens)});
  }
  void clear() { starts_.clear(); }
  // Sets the content at `at` to `left`; the bucket fills from then on.
  void set(const Rate& rate, Units left, Time at) {
    starts_ = {{at, capacity(rate) - std::min(left, capacity(rate))}};
  }
  // Keeps the content, rounded down. A full bucket stays full, like an unused one.
  void change(const std::optional<Rate>& from, const std::optional<Rate>& to, Time now) {
    if (from == to) return;
    if (!from || !to || level(*from, now) == capacity(*from)) return clear();
    const Units kept = level(*from, now) * to->per.count() / from->per.count();
    starts_ = {{now, capacity(*to) - std::min(kept, capacity(*to))}};
  }

 private:
  struct Start {
    Time at{};
    Units units = 0;
  };
  std::vector<Start> starts_;
};

}  // namespace millrace::core
