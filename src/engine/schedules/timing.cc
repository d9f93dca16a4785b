#include "engine/schedules/timing.h"

#include <algorithm>
#include <utility>

#include "calendar/cron_parser.h"
#include "digest/fingerprint.h"

namespace millrace::engine {

Time ScheduleTiming::local(Time instant) const {
  const auto second = std::chrono::floor<std::chrono::seconds>(instant).time_since_epoch().count();
  return instant + std::chrono::seconds(zone->span_at(second).offset);
}

Result<ScheduleTiming> timing_of(const core::ScheduleSpec& spec, Zones& zones) {
  static const auto kUtc = std::make_shared<const calendar::Zone>();
  ScheduleTiming timing;
  timing.zone = kUtc;
  timing.timing.start_at = spec.start_at;
  timing.timing.end_at = spec.end_at;
  if (spec.cron.empty()) {
    timing.timing.rule = calendar::Every{spec.every};
    return timing;
  }
  auto cron = calendar::parse_cron(spec.cron.view());
  if (!cron) return std::unexpected(cron.error());
  timing.timing.rule = *cron;
  if (spec.skip_dst_gap) timing.timing.dst_gap = calendar::DstGap::kSkip;
  if (spec.twice_in_dst_overlap) timing.timing.dst_overlap = calendar::DstOverlap::kTwice;
  if (spec.timezone.view() == "UTC") return timing;
  auto zone = zones.find(spec.timezone.view());
  if (!zone) return std::unexpected(zone.error());
  timing.zone = std::move(*zone);
  return timing;
}

Duration jitter_of(const core::Schedule& schedule, const ScheduleTiming& timing, Time instant) {
  if (schedule.spec.jitter <= Duration{0}) return Duration{0};
  Duration most = schedule.spec.jitter;
  if (const auto next = timing.next(instant)) most = std::min(most, *next - instant - Duration{1});
  if (most <= Duration{0}) return Duration{0};
  const Fingerprint draw =
      fingerprint(schedule.name.view(), "jitter " + std::to_string(to_ms(instant)));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8 | draw.bytes[i];
  return Duration{
      static_cast<std::int64_t>(number % (static_cast<std::uint64_t>(most.count()) + 1))};
}

std::vector<Time> upcoming(const core::Schedule& schedule, const ScheduleTiming& timing, Time wall,
                           std::size_t count) {
  std::vector<Time> instants;
  const core::ScheduleProgress& progress = schedule.progress;
  std::optional<Time> next = progress.planned ? progress.next : std::nullopt;
  if (!progress.planned) next = timing.next(std::max(progress.done_until, wall));
  while (next && *next <= wall) next = timing.next(std::max(*next, wall));
  for (; next && instants.size() < count; next = timing.next(*next)) instants.push_back(*next);
  return instants;
}

}  // namespace millrace::engine
