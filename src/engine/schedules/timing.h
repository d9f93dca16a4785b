// A schedule's specification in the calendar's form.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "calendar/timing.h"
#include "calendar/zone.h"
#include "core/schedules/schedule.h"
#include "engine/schedules/zones.h"

namespace millrace::engine {

struct ScheduleTiming {
  calendar::Timing timing;
  std::shared_ptr<const calendar::Zone> zone;  // never null

  std::optional<Time> next(Time after) const { return next_instant(timing, *zone, after); }
  std::optional<Time> previous(Time before) const {
    return previous_instant(timing, *zone, before);
  }
  // The local time in the zone at an instant, as if it were UTC.
  Time local(Time instant) const;
};

// The error describes what is wrong with the expression or the zone.
Result<ScheduleTiming> timing_of(const core::ScheduleSpec& spec, Zones& zones);

// The delay of an instant's job by jitter: a fixed hash of name and instant, from 0 to `jitter`,
// and always less than the gap to the next instant.
Duration jitter_of(const core::Schedule& schedule, const ScheduleTiming& timing, Time instant);

// The next instants, by the schedule's progress and `wall`.
std::vector<Time> upcoming(const core::Schedule& schedule, const ScheduleTiming& timing, Time wall,
                           std::size_t count);

}  // namespace millrace::engine
