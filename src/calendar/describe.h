// Describes in plain words when a schedule is due: "At 09:00 on Monday to Friday, Europe/Zurich".
#pragma once

#include <string>
#include <string_view>

#include "calendar/timing.h"

namespace millrace::calendar {

// Depends on the matching times, not on the spelling: "0,30" and "*/30" read the same. The zone is
// omitted if the rule has none (`Every`).
std::string describe(const Timing& timing, std::string_view zone);

}  // namespace millrace::calendar
