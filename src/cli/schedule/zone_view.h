// A time zone's clock times, from this machine's zone data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "calendar/zone.h"
#include "millrace/job.h"

namespace millrace::cli {

// None: this machine does not know the zone. The server may know it.
std::optional<calendar::Zone> zone_here(std::string_view name);

// The name of the zone of this machine's clock, as cron(8) determines it: TZ, else /etc/localtime,
// else /etc/timezone. An error if none of them names one.
Result<std::string> zone_of_machine();
// The same from their contents. `localtime`: the link's target; empty if it is not a link.
Result<std::string> zone_of_machine(const std::optional<std::string>& tz, bool has_localtime,
                                    std::string_view localtime, std::string_view timezone_file);

// "Mon 2026-03-30 09:00:00", in UTC shifted by `offset_s` seconds.
std::string civil_time(sdk::Timestamp time, std::int32_t offset_s);
// "+02:00"
std::string offset_text(std::int32_t offset_s);

// A table of instants: in the zone with its offset, in UTC, and relative to `now`. A note marks a
// change of the clock since the previous row. Without a zone, only in UTC.
std::string instants_table(const std::vector<sdk::Timestamp>& instants, std::string_view zone_name,
                           const std::optional<calendar::Zone>& zone, sdk::Timestamp now,
                           std::size_t width);

}  // namespace millrace::cli
