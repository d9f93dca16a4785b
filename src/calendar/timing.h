// When a schedule is due: its instants, one after another, forwards and backwards. Pure: the same
// timing, zone and instant give the same answer, and the work is bounded whatever they are.
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

// Whole multiples of `interval`, counted from `Timing::start_at`, else from the Unix epoch.
struct Every {
  Duration interval = kMinEvery;  // kMinEvery to kMaxEvery

  bool operator==(const Every&) const = default;
};

// What becomes of a time of the day that the clock leaps over. All of one gap are one instant, at
// the gap's end; it is also that of a time which the clock shows then.
enum class DstGap : std::uint8_t { kRun, kSkip };
// And of one that the clock shows twice: kOnce is the first.
enum class DstOverlap : std::uint8_t { kOnce, kTwice };

// The two policies are for expressions that name times of the day (Cron::fixed_times). Others
// follow elapsed time: a gap has no instant, and a repeated hour has its instants twice.
struct Timing {
  std::variant<Cron, Every> rule;
  std::optional<Time> start_at = std::nullopt;  // no instant before it
  std::optional<Time> end_at = std::nullopt;    // none after it
  DstGap dst_gap = DstGap::kRun;
  DstOverlap dst_overlap = DstOverlap::kOnce;

  bool operator==(const Timing&) const = default;
};
static_assert(sizeof(Timing) <= 96);  // an engine keeps one a schedule

// The first instant later than `after`, the last one earlier than `before`. None: there is none in
// the years 0 to 9999. An expression's instants are whole seconds; `Every` needs no zone.
std::optional<Time> next_instant(const Timing& timing, const Zone& zone, Time after);
std::optional<Time> previous_instant(const Timing& timing, const Zone& zone, Time before);

}  // namespace millrace::calendar
