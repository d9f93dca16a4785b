// Says in plain words when a schedule is due: "At 09:00 on Monday to Friday, Europe/Zurich".
#pragma once

#include <string>
#include <string_view>

#include "calendar/timing.h"

namespace millrace::calendar {

// It follows from what matches, not from how that was written: "0,30" and "*/30" read the same. The
// zone is left out where there is none to name (`Every`).
std::string describe(const Timing& timing, std::string_view zone);

}  // namespace millrace::calendar
