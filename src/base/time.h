// Instants and durations in milliseconds, and their text forms. Nothing here reads a clock: time is
// an input.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

using Duration = std::chrono::milliseconds;
using Time = std::chrono::sys_time<std::chrono::milliseconds>;  // since the Unix epoch, UTC

constexpr Time time_from_ms(std::int64_t ms_since_epoch) { return Time{Duration{ms_since_epoch}}; }
constexpr std::int64_t to_ms(Time time) { return time.time_since_epoch().count(); }

// The range of instants that Millrace handles: 0000-01-01 to 9999-12-31, as RFC 3339 can express.
constexpr std::int64_t kMinTimeMs = -62'167'219'200'000;
constexpr std::int64_t kMaxTimeMs = 253'402'300'799'999;

// time + duration, clamped to [kMinTimeMs, kMaxTimeMs]: never overflows.
Time add_saturating(Time time, Duration duration);

// RFC 3339 in UTC with milliseconds: 2026-03-01T09:30:00.000Z. Precondition: within the bounds
// above.
std::string format_rfc3339(Time time);
// Writes the same 24 characters at `out` (no terminator).
void format_rfc3339_to(Time time, char* out);
constexpr std::size_t kRfc3339Size = 24;

// Accepts any offset; "T", "t" or a space between date and time; a fraction of any length, cut to
// milliseconds; second 60, read as 59.999. Accepts nothing else.
std::optional<Time> parse_rfc3339(std::string_view text);

// Durations as people write them: "250ms", "10s", "2h30m", "7d", "1w". Units are w d h m s ms, each
// at most once, from large to small; "0" alone is zero. No sign, no fraction; at most 100 years.
std::optional<Duration> parse_duration(std::string_view text);
// The shortest text that parse_duration reads back: "10s", "2h30m", "0s".
std::string format_duration(Duration duration);
// For tables: at most two units, "4.2s", "18m", "3d4h".
std::string format_duration_for_people(Duration duration);

// Sizes as people write them: "4096", "16MiB", "1GiB", "64KiB", "10MB" (powers of 1000).
std::optional<std::uint64_t> parse_size(std::string_view text);
std::string format_size(std::uint64_t bytes);

}  // namespace millrace
