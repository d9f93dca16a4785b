// Translates a schedule's specification between the contract and the machine, and uses the calendar
// to check and describe it.
#pragma once

#include <string>
#include <string_view>

#include "api/schedule.h"
#include "core/schedules/schedule.h"
#include "engine/schedules/timing.h"
#include "engine/schedules/zones.h"
#include "service/caller.h"

namespace millrace::service {

// Whether a schedule may have this name. `preview` is reserved as a path of the API.
Answered<> admits_schedule_name(std::string_view name);

// Whether the caller may submit to each queue that the schedule names.
bool allows_schedule(const Caller& caller, const api::ScheduleSpec& spec);

// Checks the expression, the zone, the jitter and the workflow. `where`: the pointer to the
// specification in the request's body.
Answered<core::ScheduleSpec> to_core(engine::Zones& zones, Time now, const api::ScheduleSpec& spec,
                                     const std::string& where);
Answered<engine::ScheduleTiming> timing_of(engine::Zones& zones, const api::ScheduleTiming& timing,
                                           const std::string& where);

std::string description_of(const engine::ScheduleTiming& timing, std::string_view timezone);
std::vector<std::string> warnings_of(const engine::ScheduleTiming& timing);

}  // namespace millrace::service
