#include "calendar/clock_changes.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

namespace millrace::calendar {
namespace {

constexpr std::int64_t kYear = 366L * 86'400;
constexpr std::size_t kMostSentences = 2;

// A local time is seconds since 1970 on a wall clock, so it is formatted as if it were UTC.
std::string day_of(std::int64_t local) {
  return format_rfc3339(time_from_ms(local * 1'000)).substr(0, 10);
}
std::string clock_of(std::int64_t local) {
  return format_rfc3339(time_from_ms(local * 1'000)).substr(11, 5);
}

// Whether the expression names a time of [begin, end) on the wall clock.
bool meets(const Cron& cron, std::int64_t begin, std::int64_t end) {
  const std::optional<std::int64_t> first = next_local(cron, begin);
  return first && *first < end;
}

std::string leap(const Timing& timing, const Span& span) {
  const std::int64_t from = span.begin + span.before;
  const std::int64_t to = span.begin + span.offset;
  const std::string_view then = timing.dst_gap == DstGap::kRun
                                    ? "it runs once, at the end of the gap (dst_gap: run)"
                                    : "it does not run in the gap (dst_gap: skip)";
  return fmt::format("On {} the clock leaps from {} to {}: {}.", day_of(from), clock_of(from),
                     clock_of(to), then);
}

std::string repetition(const Timing& timing, const Span& span) {
  const std::int64_t from = span.begin + span.offset;
  const std::int64_t to = span.begin + span.before;
  const std::string_view then = timing.dst_overlap == DstOverlap::kOnce
                                    ? "it runs the first time (dst_overlap: once)"
                                    : "it runs both times (dst_overlap: twice)";
  return fmt::format("On {} the clock shows {} to {} twice: {}.", day_of(from), clock_of(from),
                     clock_of(to), then);
}

}  // namespace

std::vector<std::string> clock_changes(const Timing& timing, const Zone& zone, Time from) {
  std::vector<std::string> sentences;
  const auto* const cron = std::get_if<Cron>(&timing.rule);
  if (cron == nullptr || !cron->fixed_times) return sentences;
  const std::int64_t begin =
      std::chrono::floor<std::chrono::seconds>(from).time_since_epoch().count();
  for (Span span = zone.span_at(begin); sentences.size() < kMostSentences;) {
    if (span.end >= begin + kYear || span.end >= kMaxSecond) break;
    span = zone.span_at(span.end);
    const std::int64_t before = span.begin + span.before;
    const std::int64_t after = span.begin + span.offset;
    if (before < after && meets(*cron, before, after)) {
      sentences.push_back(leap(timing, span));
    } else if (after < before && meets(*cron, after, before)) {
      sentences.push_back(repetition(timing, span));
    }
  }
  return sentences;
}

}  // namespace millrace::calendar
