#include "calendar/cron.h"

#include <bit>
#include <chrono>

namespace millrace::calendar {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::int64_t kDay = 86'400;
constexpr int kMonthsOfCycle = 400 * 12;
constexpr std::uint32_t kWeek = 0x7f;

// Converts a mask of weekdays (bit 0 is Sunday) to a mask of the first seven days of a month (bit 0
// is day 1), whose first day is the weekday `first`.
std::uint32_t from_first(std::uint32_t weekdays, unsigned first) {
  return ((weekdays >> first) | (weekdays << (7 - first))) & kWeek;
}

struct Month {
  int year;
  unsigned month;  // 1 to 12
  unsigned length = 0;
  unsigned first = 0;  // the weekday of day 1, 0 is Sunday

  Month(int y, unsigned m) : year(y), month(m) {
    const std::chrono::year_month_day_last last{std::chrono::year{y},
                                                std::chrono::month_day_last{std::chrono::month{m}}};
    length = static_cast<unsigned>(last.day());
    first = std::chrono::weekday{begin()}.c_encoding();
  }

  sys_days begin() const {
    return sys_days{std::chrono::year{year} / std::chrono::month{month} / 1};
  }
  unsigned weekday(unsigned day) const { return (first + day - 1) % 7; }
};

// The Monday to Friday nearest to the day, within the month.
unsigned nearest_working_day(const Month& month, unsigned day) {
  const unsigned weekday = month.weekday(day);
  if (weekday == 6) return day > 1 ? day - 1 : day + 2;
  if (weekday == 0) return day < month.length ? day + 1 : day - 2;
  return day;
}

std::uint32_t matching_days_of_month(const Cron& cron, const Month& month) {
  std::uint32_t found = cron.days;
  if (cron.last_day) found |= 1U << month.length;
  if (cron.last_working_day) found |= 1U << nearest_working_day(month, month.length);
  for (std::uint32_t left = cron.nearest_days; left != 0; left &= left - 1) {
    const auto day = static_cast<unsigned>(std::countr_zero(left));
    if (day <= month.length) found |= 1U << nearest_working_day(month, day);
  }
  return found;
}

std::uint32_t matching_days_of_week(const Cron& cron, const Month& month) {
  std::uint64_t found = 0;  // bit 0 is day 1
  for (unsigned week = 0; week < 5; ++week) {
    const auto nth = static_cast<std::uint32_t>(cron.nth_weekdays >> (7 * week)) & kWeek;
    found |= std::uint64_t{from_first(cron.weekdays | nth, month.first)} << (7 * week);
  }
  if (cron.last_weekdays != 0) {
    const unsigned last_week = month.length - 7;  // days before the last seven
    found |= std::uint64_t{from_first(cron.last_weekdays, month.weekday(last_week + 1))}
             << last_week;
  }
  return static_cast<std::uint32_t>(found << 1);
}

// Bit N says whether day N of the month matches.
std::uint32_t matching_days(const Cron& cron, const Month& month) {
  if ((cron.months >> month.month & 1) == 0) return 0;
  const std::uint32_t by_month = matching_days_of_month(cron, month);
  const std::uint32_t by_week = matching_days_of_week(cron, month);
  const auto exists = static_cast<std::uint32_t>((std::uint64_t{2} << month.length) - 2);
  return (cron.both_days ? by_month & by_week : by_month | by_week) & exists;
}

// The lowest bit of `mask` at or above `from`, or 64; the highest at or below `from`, or -1.
int lowest_from(std::uint64_t mask, int from) {
  return from > 63 ? 64 : std::countr_zero(mask & ~std::uint64_t{0} << from);
}
int highest_to(std::uint64_t mask, int to) {
  return to < 0 ? -1 : 63 - std::countl_zero(mask & ~std::uint64_t{0} >> (63 - to));
}

// The first matching second of the day at or after `from`; none if there is none on that day.
std::optional<int> next_of_day(const Cron& cron, int from) {
  int hour = from / 3600;
  int minute = from / 60 % 60;
  const int second = lowest_from(cron.seconds, from % 60);
  if (second > 59) ++minute;
  const int same = lowest_from(cron.minutes, minute);
  if (same > 59) ++hour;
  const int found_hour = lowest_from(cron.hours, hour);
  if (found_hour > 23) return std::nullopt;
  if (found_hour > from / 3600) {
    return found_hour * 3600 + std::countr_zero(cron.minutes) * 60 + std::countr_zero(cron.seconds);
  }
  if (same > from / 60 % 60) return found_hour * 3600 + same * 60 + std::countr_zero(cron.seconds);
  return found_hour * 3600 + same * 60 + second;
}

std::optional<int> previous_of_day(const Cron& cron, int from) {
  int hour = from / 3600;
  int minute = from / 60 % 60;
  const int second = highest_to(cron.seconds, from % 60);
  if (second < 0) --minute;
  const int same = highest_to(cron.minutes, minute);
  if (same < 0) --hour;
  const int found_hour = highest_to(cron.hours, hour);
  if (found_hour < 0) return std::nullopt;
  const int last_second = highest_to(cron.seconds, 59);
  if (found_hour < from / 3600) {
    return found_hour * 3600 + highest_to(cron.minutes, 59) * 60 + last_second;
  }
  if (same < from / 60 % 60) return found_hour * 3600 + same * 60 + last_second;
  return found_hour * 3600 + same * 60 + second;
}

// The first matching day at or after `day` (days since 1970-01-01).
std::optional<std::int64_t> next_day(const Cron& cron, std::int64_t day) {
  const year_month_day date{sys_days{days{day}}};
  int year = static_cast<int>(date.year());
  auto month = static_cast<unsigned>(date.month());
  std::uint32_t wanted = ~0U << static_cast<unsigned>(date.day());
  for (int i = 0; i <= kMonthsOfCycle; ++i) {
    if ((cron.months >> month & 1) != 0) {
      const Month here(year, month);
      const std::uint32_t found = matching_days(cron, here) & wanted;
      if (found != 0) {
        return here.begin().time_since_epoch().count() + std::countr_zero(found) - 1;
      }
    }
    wanted = ~0U;
    if (++month > 12) {
      month = 1;
      ++year;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> previous_day(const Cron& cron, std::int64_t day) {
  const year_month_day date{sys_days{days{day}}};
  int year = static_cast<int>(date.year());
  auto month = static_cast<unsigned>(date.month());
  std::uint32_t wanted = ~0U >> (31 - static_cast<unsigned>(date.day()));
  for (int i = 0; i <= kMonthsOfCycle; ++i) {
    if ((cron.months >> month & 1) != 0) {
      const Month here(year, month);
      const std::uint32_t found = matching_days(cron, here) & wanted;
      if (found != 0) {
        return here.begin().time_since_epoch().count() + (31 - std::countl_zero(found)) - 1;
      }
    }
    wanted = ~0U;
    if (--month < 1) {
      month = 12;
      --year;
    }
  }
  return std::nullopt;
}

std::int64_t day_of(std::int64_t local) {
  return local >= 0 ? local / kDay : -((-local + kDay - 1) / kDay);
}

}  // namespace

std::optional<std::int64_t> next_local(const Cron& cron, std::int64_t local) {
  const std::int64_t today = day_of(local);
  std::optional<std::int64_t> day = next_day(cron, today);
  if (day == today) {
    const auto second = next_of_day(cron, static_cast<int>(local - today * kDay));
    if (second) return today * kDay + *second;
    day = next_day(cron, today + 1);
  }
  if (!day) return std::nullopt;
  return *day * kDay + *next_of_day(cron, 0);
}

std::optional<std::int64_t> previous_local(const Cron& cron, std::int64_t local) {
  const std::int64_t today = day_of(local);
  std::optional<std::int64_t> day = previous_day(cron, today);
  if (day == today) {
    const auto second = previous_of_day(cron, static_cast<int>(local - today * kDay));
    if (second) return today * kDay + *second;
    day = previous_day(cron, today - 1);
  }
  if (!day) return std::nullopt;
  return *day * kDay + *previous_of_day(cron, static_cast<int>(kDay - 1));
}

}  // namespace millrace::calendar
