// Describes in plain words how changes of the clock affect an expression that names times of the
// day.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "calendar/timing.h"
#include "calendar/zone.h"

namespace millrace::calendar {

// A sentence for each clock change that affects the expression within a year after `from`, at most
// two: "On 2027-03-28 the clock leaps from 02:00 to 03:00: it runs once, at the end of the gap
// (dst_gap: run)."
std::vector<std::string> clock_changes(const Timing& timing, const Zone& zone, Time from);

}  // namespace millrace::calendar
