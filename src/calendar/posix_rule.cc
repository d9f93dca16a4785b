#include "calendar/posix_rule.h"

#include <fmt/format.h>

#include <chrono>

#include "base/ascii.h"

namespace millrace::calendar {
namespace {

using std::chrono::sys_days;

constexpr std::int64_t kDay = 86'400;

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool at(std::string_view choices) const {
    return !rest_.empty() && choices.find(rest_.front()) != std::string_view::npos;
  }

  // "CET", or "<-03>": three characters or more.
  bool designation() {
    const bool quoted = skip('<');
    std::size_t size = 0;
    while (size < rest_.size() &&
           (quoted ? is_alphanumeric(rest_[size]) || rest_[size] == '+' || rest_[size] == '-'
                   : is_letter(rest_[size]))) {
      ++size;
    }
    rest_.remove_prefix(size);
    return size >= 3 && (!quoted || skip('>'));
  }

  // At most three digits, `min` to `max`.
  bool number(int min, int max, int& out) {
    std::size_t digits = 0;
    int value = 0;
    while (digits < rest_.size() && digits < 3 && is_digit(rest_[digits])) {
      value = value * 10 + (rest_[digits++] - '0');
    }
    rest_.remove_prefix(digits);
    out = value;
    return digits > 0 && value >= min && value <= max;
  }

  // "[+-]hh[:mm[:ss]]" in seconds.
  bool clock(int max_hours, std::int32_t& out) {
    const bool negative = skip('-');
    if (!negative) skip('+');
    int hours = 0;
    int minutes = 0;
    int seconds = 0;
    if (!number(0, max_hours, hours)) return false;
    if (skip(':')) {
      if (!number(0, 59, minutes)) return false;
      if (skip(':') && !number(0, 59, seconds)) return false;
    }
    out = hours * 3600 + minutes * 60 + seconds;
    if (negative) out = -out;
    return true;
  }

  bool yearly_day(YearlyDay& out) {
    int a = 0;
    int b = 0;
    int c = 0;
    if (skip('M')) {
      if (!number(1, 12, a) || !skip('.') || !number(1, 5, b) || !skip('.') || !number(0, 6, c)) {
        return false;
      }
      out.form = YearlyDay::Form::kMonthWeekday;
      out.month = static_cast<std::uint8_t>(a);
      out.week = static_cast<std::uint8_t>(b);
      out.weekday = static_cast<std::uint8_t>(c);
    } else {
      const bool julian = skip('J');
      if (!number(julian ? 1 : 0, 365, a)) return false;
      out.form = julian ? YearlyDay::Form::kJulian : YearlyDay::Form::kZeroBased;
      out.day = static_cast<std::uint16_t>(a);
    }
    return !skip('/') || clock(167, out.second_of_day);
  }

 private:
  std::string_view rest_;
};

bool read(Reader& reader, PosixRule& rule) {
  constexpr std::int32_t kHour = 3600;
  std::int32_t west = 0;
  if (!reader.designation() || !reader.clock(24, west)) return false;
  rule.standard_s = -west;
  if (reader.done()) return true;
  PosixRule::Daylight daylight;
  if (!reader.designation()) return false;
  daylight.offset_s = rule.standard_s + kHour;
  if (!reader.at(",")) {
    if (!reader.clock(24, west)) return false;
    daylight.offset_s = -west;
  }
  if (!reader.skip(',') || !reader.yearly_day(daylight.begin) || !reader.skip(',') ||
      !reader.yearly_day(daylight.end) || !reader.done()) {
    return false;
  }
  rule.daylight = daylight;
  return true;
}

}  // namespace

std::int64_t YearlyDay::local_second(int year) const {
  const std::chrono::year y{year};
  std::int64_t days = 0;
  if (form == Form::kMonthWeekday) {
    const std::chrono::month m{month};
    const std::chrono::weekday w{weekday};
    days = week == 5 ? sys_days{y / m / w[std::chrono::last]}.time_since_epoch().count()
                     : sys_days{y / m / w[week]}.time_since_epoch().count();
  } else {
    days = sys_days{y / 1 / 1}.time_since_epoch().count() + day;
    if (form == Form::kJulian) days -= day < 60 || !y.is_leap() ? 1 : 0;
  }
  return days * kDay + second_of_day;
}

Result<PosixRule> parse_posix_rule(std::string_view text) {
  Reader reader(text);
  PosixRule rule;
  if (!read(reader, rule)) return failure("its last line is not a POSIX time zone rule");
  return rule;
}

}  // namespace millrace::calendar
