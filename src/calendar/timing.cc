#include "calendar/timing.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::calendar {
namespace {

// Two clocks of a zone differ by less than this. The result of a search over months holds for all
// instants that are this far from its beginning, and kMaxOffset from its end, on any clock.
constexpr std::int64_t kMaxShift = 2 * kMaxOffset;

// The instants of an expression within one span.
class CronInSpan {
 public:
  CronInSpan(const Cron& cron, const Timing& timing, const Span& span)
      : cron_(cron),
        span_(span),
        gap_(cron.fixed_times && timing.dst_gap == DstGap::kRun && span.offset > span.before),
        repeats_(!cron.fixed_times || timing.dst_overlap == DstOverlap::kTwice) {}

  // Whether the clock at the span's begin skipped a time that must still run.
  bool due_at_begin() const {
    if (!gap_) return false;
    const auto found = next_local(cron_, span_.begin + span_.before);
    return found && *found < span_.begin + span_.offset;
  }

  // The first local time of the span that counts. Unless times repeat, this skips times that the
  // clock showed before.
  std::int64_t first_local() const {
    return span_.begin + (repeats_ ? span_.offset : std::max(span_.offset, span_.before));
  }

 private:
  const Cron& cron_;
  const Span& span_;
  bool gap_;
  bool repeats_;
};

// The first instant not before `second`.
std::optional<std::int64_t> next_second(const Cron& cron, const Timing& timing, const Zone& zone,
                                        std::int64_t second) {
  second = std::max(second, kMinSecond);
  while (second <= kMaxSecond) {
    const Span span = zone.span_at(second);
    const CronInSpan here(cron, timing, span);
    if (second == span.begin && here.due_at_begin()) return second;
    const auto local = next_local(cron, std::max(second + span.offset, here.first_local()));
    if (!local) return std::nullopt;
    const std::int64_t found = *local - span.offset;
    if (found < span.end) {
      return found <= kMaxSecond ? std::optional<std::int64_t>(found) : std::nullopt;
    }
    // Skip the spans of the years until then.
    second = span.end - second > kMaxShift ? std::max(span.end, *local - kMaxOffset) : span.end;
  }
  return std::nullopt;
}

// The last instant not after `second`.
std::optional<std::int64_t> previous_second(const Cron& cron, const Timing& timing,
                                            const Zone& zone, std::int64_t second) {
  second = std::min(second, kMaxSecond);
  while (second >= kMinSecond) {
    const Span span = zone.span_at(second);
    const CronInSpan here(cron, timing, span);
    const auto local = previous_local(cron, second + span.offset);
    if (local && *local >= here.first_local()) {
      const std::int64_t found = *local - span.offset;
      return found >= kMinSecond ? std::optional<std::int64_t>(found) : std::nullopt;
    }
    if (here.due_at_begin()) return span.begin;
    if (!local) return std::nullopt;
    const std::int64_t earlier = span.begin - 1;
    second = second - span.begin > kMaxShift ? std::min(earlier, *local + kMaxOffset) : earlier;
  }
  return std::nullopt;
}

std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

// The multiple of the interval at or before the instant.
Time multiple_until(const Every& every, const Timing& timing, Time instant) {
  MILLRACE_CHECK(every.interval >= kMinEvery && every.interval <= kMaxEvery);
  const Time origin = timing.start_at.value_or(time_from_ms(0));
  return origin + floor_divide((instant - origin).count(), every.interval.count()) * every.interval;
}

constexpr Duration kMs{1};

Time first_possible(const Timing& timing) {
  return std::max(timing.start_at.value_or(time_from_ms(kMinTimeMs)), time_from_ms(kMinTimeMs));
}
Time last_possible(const Timing& timing) {
  return std::min(timing.end_at.value_or(time_from_ms(kMaxTimeMs)), time_from_ms(kMaxTimeMs));
}

std::optional<Time> from_second(std::optional<std::int64_t> second) {
  return second ? std::optional<Time>(time_from_ms(*second * 1000)) : std::nullopt;
}

}  // namespace

std::optional<Time> next_instant(const Timing& timing, const Zone& zone, Time after) {
  const Time last = last_possible(timing);
  if (after >= last) return std::nullopt;
  const Time from = std::max(after + kMs, first_possible(timing));
  std::optional<Time> found;
  if (const auto* every = std::get_if<Every>(&timing.rule)) {
    found = multiple_until(*every, timing, from - kMs) + every->interval;
  } else {
    const std::int64_t second = floor_divide(to_ms(from) + 999, 1000);
    found = from_second(next_second(std::get<Cron>(timing.rule), timing, zone, second));
  }
  return found && *found <= last ? found : std::nullopt;
}

std::optional<Time> previous_instant(const Timing& timing, const Zone& zone, Time before) {
  const Time first = first_possible(timing);
  if (before <= first) return std::nullopt;
  const Time until = std::min(before - kMs, last_possible(timing));
  std::optional<Time> found;
  if (const auto* every = std::get_if<Every>(&timing.rule)) {
    found = multiple_until(*every, timing, until);
  } else {
    const std::int64_t second = floor_divide(to_ms(until), 1000);
    found = from_second(previous_second(std::get<Cron>(timing.rule), timing, zone, second));
  }
  return found && *found >= first ? found : std::nullopt;
}

}  // namespace millrace::calendar
