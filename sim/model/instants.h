// The instants of a schedule, computed as simply as possible: those of an interval are counted from
// its origin, those of an expression found by examining every second. Shares nothing with
// src/calendar.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/schedules/schedule.h"

namespace millrace::sim {

// Offsets from UTC in seconds. Each is valid from its second on, the first also before.
using Offsets = std::vector<std::pair<std::int64_t, std::int32_t>>;

class Instants {
 public:
  // Reads expressions as the simulated clients write them: lists, ranges and steps of numbers, in
  // five or six fields.
  Instants(const core::ScheduleSpec& spec, Offsets offsets);

  bool has(Time at) const;
  // The first instant later than `after`; none if there is none within kHorizon.
  std::optional<Time> next(Time after) const;
  // Later than `after`, not later than `until`.
  std::vector<Time> between(Time after, Time until) const;
  // The clock's reading at that time, as if it were UTC.
  Time local(Time at) const;
  bool fixed() const { return fixed_; }
  // The most by which the job of this instant may be delayed on purpose.
  Duration most_jitter(Time instant) const;

  static constexpr Duration kHorizon{2 * 86'400'000};

 private:
  struct Field {
    std::uint64_t values = 0;
    bool star = false;  // begins with a star
    bool has(unsigned value) const { return (values >> value & 1) != 0; }
  };
  static Field read(std::string_view text, unsigned least, unsigned most);
  std::int32_t offset(std::int64_t second) const;
  bool names(std::int64_t local) const;
  bool has_second(std::int64_t second) const;

  std::array<Field, 6> fields_{};  // seconds, minutes, hours, days, months, days of the week
  bool fixed_ = false;             // the expression names times of the day
  Offsets offsets_;
  Duration every_{};
  Time origin_{};
  std::optional<Time> start_at_, end_at_;
  Duration jitter_{};
  bool skip_gap_ = false;
  bool twice_ = false;
};

}  // namespace millrace::sim
