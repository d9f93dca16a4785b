// The instants at which a schedule is due, forwards and backwards. Pure: the same timing, zone and
// instant give the same answer. The work is bounded for every input.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "base/time.h"
#include "calendar/cron.h"
#include "calendar/zone.h"

namespace millrace::calendar {

constexpr Duration kMinEvery{1'000};
constexpr Duration kMaxEvery{std::int64_t{3'653} * 86'400'000};  // ten years

// Whole multiples of `interval`, counted from `Timing::start_at` if set, otherwise from the Unix
// epoch.
struct Every {
  Duration interval = kMinEvery;  // kMinEvery to kMaxEvery

  bool operator==(const Every&) const = default;
};

// How to treat a time of the day that the clock skips. All skipped times of a gap are one instant,
// at the gap's end, which they share with the time that the clock then shows.
enum class DstGap : std::uint8_t { kRun, kSkip };
// How to treat a time that the clock shows twice: kOnce is the first.
enum class DstOverlap : std::uint8_t { kOnce, kTwice };

// Both policies apply to expressions that name times of the day (Cron::fixed_times). Others follow
// elapsed time: a gap has no instant, and a repeated hour has its instants twice.
struct Timing {
  std::variant<Cron, Every> rule;
  std::optional<Time> start_at = std::nullopt;  // no earlier instant
  std::optional<Time> end_at = std::nullopt;    // no later instant
  DstGap dst_gap = DstGap::kRun;
  DstOverlap dst_overlap = DstOverlap::kOnce;

  bool operator==(const Timing&) const = default;
};
static_assert(sizeof(Timing) <= 96);  // an engine keeps one per schedule

// The first instant after `after`; the last one before `before`. None: there is none in the years 0
// to 9999. An expression's instants are whole seconds; `Every` ignores the zone.
std::optional<Time> next_instant(const Timing& timing, const Zone& zone, Time after);
std::optional<Time> previous_instant(const Timing& timing, const Zone& zone, Time before);

}  // namespace millrace::calendar
