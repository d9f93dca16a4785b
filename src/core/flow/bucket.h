// Token buckets in integers, so that every machine computes the same. A token is rate.per.count()
// units; each millisecond adds rate.limit units. The largest bucket has 8.64e16 units.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "core/flow/limit.h"

namespace millrace::core {

using Units = std::uint64_t;

constexpr Units per_token(const Rate& rate) { return static_cast<Units>(rate.per.count()); }
constexpr Units capacity(const Rate& rate) { return rate.most_at_once() * per_token(rate); }

// Starts full.
class Bucket {
 public:
  constexpr explicit Bucket(const Rate& rate) : level_(capacity(rate)) {}
  constexpr Bucket(Units level, Time at) : level_(level), at_(at) {}

  constexpr Units level(const Rate& rate, Time now) const {
    const Units missing = capacity(rate) - std::min(level_, capacity(rate));
    const Units to_full = (missing + rate.limit - 1) / rate.limit;  // milliseconds
    if (now <= at_) return std::min(level_, capacity(rate));
    const auto passed = static_cast<Units>((now - at_).count());
    return passed >= to_full ? capacity(rate) : level_ + passed * rate.limit;
  }
  // The first instant at which the bucket has `tokens`, if `taken` are taken now; none: never,
  // because the burst is smaller.
  std::optional<Time> has_at(const Rate& rate, std::uint64_t tokens, std::uint64_t taken,
                             Time now) const {
    if (tokens > rate.most_at_once()) return std::nullopt;
    const Units wanted = (tokens + taken) * per_token(rate);
    const Units there = level(rate, now);
    if (there >= wanted) return now;
    const Units wait = (wanted - there + rate.limit - 1) / rate.limit;
    return add_saturating(now, Duration{static_cast<std::int64_t>(wait)});
  }
  // Precondition: the bucket has `tokens`.
  constexpr void take(const Rate& rate, std::uint64_t tokens, Time now) {
    level_ = level(rate, now) - tokens * per_token(rate);
    at_ = std::max(at_, now);
  }
  // Changes the rate to `to`. The bucket keeps its content, rounded down.
  constexpr void change(const Rate& from, const Rate& to, Time now) {
    const Units there = level(from, now);
    const Units tokens = there / per_token(from);
    const Units rest = there % per_token(from) * per_token(to) / per_token(from);
    level_ = std::min(tokens * per_token(to) + rest, capacity(to));
    at_ = std::max(at_, now);
  }

 private:
  Units level_ = 0;
  Time at_{};
};

}  // namespace millrace::core
