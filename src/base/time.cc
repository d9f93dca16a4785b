#include "base/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/ascii.h"
#include "base/check.h"

namespace millrace {
namespace {

constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::int64_t kMsPerMinute = 60 * kMsPerSecond;
constexpr std::int64_t kMsPerHour = 60 * kMsPerMinute;
constexpr std::int64_t kMsPerDay = 24 * kMsPerHour;
constexpr std::int64_t kMsPerWeek = 7 * kMsPerDay;
constexpr std::int64_t kMaxDurationMs =
    100 * 365 * kMsPerDay + 25 * kMsPerDay;  // 100 years, leap days too

// Reads a text from left to right; every step returns whether it matched.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }

  bool skip_any_of(std::string_view choices) {
    if (rest_.empty() || choices.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool skip(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // Exactly `count` digits.
  bool number(std::size_t count, int& out) {
    if (rest_.size() < count) return false;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_digit(rest_[i])) return false;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    out = value;
    return true;
  }

  // One digit or more, no greater than `max`.
  bool number_up_to(std::uint64_t max, std::uint64_t& out) {
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && is_digit(rest_[digits]); ++digits) {
      const auto digit = static_cast<std::uint64_t>(rest_[digits] - '0');
      if (value > (max - digit) / 10) return false;
      value = value * 10 + digit;
    }
    if (digits == 0) return false;
    rest_.remove_prefix(digits);
    out = value;
    return true;
  }

  // A fraction's digits after the point, cut to milliseconds; at least one digit.
  bool milliseconds(int& out) {
    if (rest_.empty() || !is_digit(rest_.front())) return false;
    int value = 0;
    for (int place = 100; !rest_.empty() && is_digit(rest_.front()); place /= 10) {
      value += (rest_.front() - '0') * place;
      rest_.remove_prefix(1);
    }
    out = value;
    return true;
  }

 private:
  std::string_view rest_;
};

struct ClockTime {
  int hour = 0;
  int minute = 0;
  int second = 0;
  int millisecond = 0;
};

bool read_date(Reader& reader, std::chrono::sys_days& out) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!reader.number(4, year) || !reader.skip("-") || !reader.number(2, month) ||
      !reader.skip("-") || !reader.number(2, day)) {
    return false;
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return false;
  out = std::chrono::sys_days{date};
  return true;
}

bool read_clock(Reader& reader, ClockTime& out) {
  if (!reader.number(2, out.hour) || !reader.skip(":") || !reader.number(2, out.minute) ||
      !reader.skip(":") || !reader.number(2, out.second)) {
    return false;
  }
  if (reader.skip(".") && !reader.milliseconds(out.millisecond)) return false;
  if (out.hour > 23 || out.minute > 59 || out.second > 60) return false;
  if (out.second == 60) {  // a leap second: the last instant of the minute that we can name
    out.second = 59;
    out.millisecond = 999;
  }
  return true;
}

bool read_offset(Reader& reader, std::int64_t& offset_ms) {
  offset_ms = 0;
  if (reader.skip_any_of("Zz")) return true;
  const bool ahead = reader.skip("+");
  if (!ahead && !reader.skip("-")) return false;
  int hours = 0;
  int minutes = 0;
  if (!reader.number(2, hours) || !reader.skip(":") || !reader.number(2, minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  offset_ms = hours * kMsPerHour + minutes * kMsPerMinute;
  if (!ahead) offset_ms = -offset_ms;
  return true;
}

void write_digits(char* out, int count, unsigned value) {
  for (int i = count - 1; i >= 0; --i) {
    out[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
// From large to small. "ms" is tried before "m" wherever a text is matched.
constexpr std::array<Unit, 6> kUnits{{{"w", kMsPerWeek},
                                      {"d", kMsPerDay},
                                      {"h", kMsPerHour},
                                      {"m", kMsPerMinute},
                                      {"s", kMsPerSecond},
                                      {"ms", 1}}};

// Index into kUnits, or its size.
std::size_t read_unit(Reader& reader) {
  if (reader.skip("ms")) return kUnits.size() - 1;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (reader.skip(kUnits[i].name)) return i;
  }
  return kUnits.size();
}

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<SizeUnit, 9> kSizeUnits{{{"TiB", std::uint64_t{1} << 40},
                                              {"GiB", std::uint64_t{1} << 30},
                                              {"MiB", std::uint64_t{1} << 20},
                                              {"KiB", std::uint64_t{1} << 10},
                                              {"TB", 1'000'000'000'000},
                                              {"GB", 1'000'000'000},
                                              {"MB", 1'000'000},
                                              {"kB", 1'000},
                                              {"KB", 1'000}}};

}  // namespace

Time add_saturating(Time time, Duration duration) {
  const std::int64_t start = to_ms(time);
  const std::int64_t step = duration.count();
  std::int64_t sum = 0;
  if (__builtin_add_overflow(start, step, &sum)) sum = step > 0 ? kMaxTimeMs : kMinTimeMs;
  return time_from_ms(std::clamp(sum, kMinTimeMs, kMaxTimeMs));
}

void format_rfc3339_to(Time time, char* out) {
  MILLRACE_CHECK(to_ms(time) >= kMinTimeMs && to_ms(time) <= kMaxTimeMs);
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{days};
  const auto ms = static_cast<unsigned>((time - days).count());
  write_digits(out, 4, static_cast<unsigned>(static_cast<int>(date.year())));
  out[4] = '-';
  write_digits(out + 5, 2, static_cast<unsigned>(date.month()));
  out[7] = '-';
  write_digits(out + 8, 2, static_cast<unsigned>(date.day()));
  out[10] = 'T';
  write_digits(out + 11, 2, ms / kMsPerHour);
  out[13] = ':';
  write_digits(out + 14, 2, ms / kMsPerMinute % 60);
  out[16] = ':';
  write_digits(out + 17, 2, ms / kMsPerSecond % 60);
  out[19] = '.';
  write_digits(out + 20, 3, ms % kMsPerSecond);
  out[23] = 'Z';
}

std::string format_rfc3339(Time time) {
  std::string text(kRfc3339Size, '\0');
  format_rfc3339_to(time, text.data());
  return text;
}

std::optional<Time> parse_rfc3339(std::string_view text) {
  Reader reader(text);
  std::chrono::sys_days day;
  ClockTime clock;
  std::int64_t offset_ms = 0;
  if (!read_date(reader, day) || !reader.skip_any_of("Tt ") || !read_clock(reader, clock) ||
      !read_offset(reader, offset_ms) || !reader.done()) {
    return std::nullopt;
  }
  const std::int64_t ms = day.time_since_epoch().count() * kMsPerDay + clock.hour * kMsPerHour +
                          clock.minute * kMsPerMinute + clock.second * kMsPerSecond +
                          clock.millisecond - offset_ms;
  // An offset can move the first or last day beyond what four digits of a year can express.
  if (ms < kMinTimeMs || ms > kMaxTimeMs) return std::nullopt;
  return time_from_ms(ms);
}

std::optional<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration{0};
  Reader reader(text);
  std::int64_t total_ms = 0;
  std::size_t next_unit = 0;  // units before this one have had their turn
  while (!reader.done()) {
    std::uint64_t amount = 0;
    if (!reader.number_up_to(kMaxDurationMs, amount)) return std::nullopt;
    const std::size_t unit = read_unit(reader);
    if (unit == kUnits.size() || unit < next_unit) return std::nullopt;
    next_unit = unit + 1;
    const std::int64_t room = (kMaxDurationMs - total_ms) / kUnits[unit].ms;
    if (static_cast<std::int64_t>(amount) > room) return std::nullopt;
    total_ms += static_cast<std::int64_t>(amount) * kUnits[unit].ms;
  }
  if (next_unit == 0) return std::nullopt;
  return Duration{total_ms};
}

std::string format_duration(Duration duration) {
  std::int64_t rest = duration.count();
  if (rest == 0) return "0s";
  // A whole number of weeks is written in weeks, anything else in days and less: "8d", not "1w1d".
  std::string text;
  for (const Unit& unit : kUnits) {
    if (unit.ms == kMsPerWeek && rest % kMsPerWeek != 0) continue;
    if (rest / unit.ms == 0) continue;
    text += fmt::format("{}{}", rest / unit.ms, unit.name);
    rest %= unit.ms;
  }
  return text;
}

std::string format_duration_for_people(Duration duration) {
  const std::int64_t ms = duration.count();
  if (ms < 0) return "-" + format_duration_for_people(-duration);
  if (ms < kMsPerSecond) return fmt::format("{}ms", ms);
  if (ms < 10 * kMsPerSecond) {
    const std::int64_t tenths = ms / 100;
    return tenths % 10 == 0 ? fmt::format("{}s", tenths / 10)
                            : fmt::format("{}.{}s", tenths / 10, tenths % 10);
  }
  if (ms < kMsPerMinute) return fmt::format("{}s", ms / kMsPerSecond);
  // The largest unit present and the next smaller one; weeks are left out, since people say "17d".
  constexpr std::array<Unit, 4> kPeopleUnits{
      {{"d", kMsPerDay}, {"h", kMsPerHour}, {"m", kMsPerMinute}, {"s", kMsPerSecond}}};
  std::size_t i = 0;
  while (ms < kPeopleUnits[i].ms) ++i;
  const std::int64_t large = ms / kPeopleUnits[i].ms;
  const std::int64_t small = ms % kPeopleUnits[i].ms / kPeopleUnits[i + 1].ms;
  if (small == 0 || large >= 10) return fmt::format("{}{}", large, kPeopleUnits[i].name);
  return fmt::format("{}{}{}{}", large, kPeopleUnits[i].name, small, kPeopleUnits[i + 1].name);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  Reader reader(text);
  std::uint64_t amount = 0;
  if (!reader.number_up_to(std::numeric_limits<std::uint64_t>::max(), amount)) return std::nullopt;
  if (reader.done() || (reader.skip("B") && reader.done())) return amount;
  for (const SizeUnit& unit : kSizeUnits) {
    if (!reader.skip(unit.name)) continue;
    if (!reader.done() || amount > std::numeric_limits<std::uint64_t>::max() / unit.bytes) break;
    return amount * unit.bytes;
  }
  return std::nullopt;
}

std::string format_size(std::uint64_t bytes) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (!unit.name.ends_with("iB")) continue;
    if (bytes >= unit.bytes && bytes % unit.bytes == 0) {
      return fmt::format("{}{}", bytes / unit.bytes, unit.name);
    }
  }
  return fmt::format("{}", bytes);
}

}  // namespace millrace
