#include "calendar/describe.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <vector>

namespace millrace::calendar {
namespace {

using Words = std::vector<std::string>;

constexpr std::array<std::string_view, 12> kMonths{"January",   "February", "March",    "April",
                                                   "May",       "June",     "July",     "August",
                                                   "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 5> kNth{"first", "second", "third", "fourth", "fifth"};

// "a", "a and b", "a, b and c".
std::string joined(const Words& words, std::string_view last_joint = "and") {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : fmt::format(" {} ", last_joint);
    text += words[i];
  }
  return text;
}

std::string ordinal(unsigned n) {
  const bool teen = n / 10 % 10 == 1;
  constexpr std::array<std::string_view, 4> kEnds{"th", "st", "nd", "rd"};
  return fmt::format("{}{}", n, teen || n % 10 > 3 ? "th" : kEnds[n % 10]);
}

// A set of numbers from `min` to `max`, and its spacing.
struct Numbers {
  std::uint64_t mask;
  unsigned min;
  unsigned max;
  unsigned first = 0;
  unsigned last = 0;
  unsigned count = 0;
  unsigned step = 0;  // 0: not evenly spaced, or fewer than three

  Numbers(std::uint64_t bits, unsigned smallest, unsigned largest)
      : mask(bits), min(smallest), max(largest) {
    first = static_cast<unsigned>(std::countr_zero(mask));
    last = 63 - static_cast<unsigned>(std::countl_zero(mask));
    count = static_cast<unsigned>(std::popcount(mask));
    if (count < 3 || (last - first) % (count - 1) != 0) return;
    const unsigned even = (last - first) / (count - 1);
    for (unsigned i = first; i <= last; i += even) {
      if (!has(i)) return;
    }
    step = even;
  }

  bool has(unsigned number) const { return (mask >> number & 1) != 0; }
  bool all() const { return count == max - min + 1; }
  bool to_the_end() const { return last + step > max; }
  // Evenly spaced across the wrap-around too: 0, 15, 30, 45, but not 0, 7, ..., 56 of 60.
  bool cyclic() const {
    return step > 0 && (max - min + 1) % step == 0 && to_the_end() && first < min + step;
  }
};

// Lists each number; three or more in a row become "2 to 5".
template <typename Name>
Words runs(const Numbers& numbers, Name name) {
  Words words;
  for (unsigned i = numbers.min; i <= numbers.max; ++i) {
    if (!numbers.has(i)) continue;
    unsigned end = i;
    while (end < numbers.max && numbers.has(end + 1)) ++end;
    if (end >= i + 2) {
      words.push_back(fmt::format("{} to {}", name(i), name(end)));
      i = end;
    } else {
      words.emplace_back(name(i));
    }
  }
  return words;
}

std::string plain(unsigned number) { return std::to_string(number); }

std::string from_to(const Numbers& numbers, std::string_view unit) {
  if (numbers.cyclic()) {
    return numbers.first == numbers.min ? "" : fmt::format(" from {} {}", unit, numbers.first);
  }
  return fmt::format(" from {} {} to {}", unit, numbers.first, numbers.last);
}

// The beginning of the sentence: "Every 5 minutes", "At minutes 5 and 10".
std::string leading(const Numbers& numbers, std::string_view unit) {
  if (numbers.all()) return fmt::format("Every {}", unit);
  if (numbers.count == 1) return fmt::format("At {} {}", unit, numbers.first);
  if (numbers.step == 1) {
    return fmt::format("Every {} from {} to {}", unit, numbers.first, numbers.last);
  }
  if (numbers.step > 1) {
    return fmt::format("Every {} {}s{}", numbers.step, unit, from_to(numbers, unit));
  }
  return fmt::format("At {}s {}", unit, joined(runs(numbers, plain)));
}

// The part about the next larger unit: " in every 5th minute", " from 09:00 to 17:59".
std::string within(const Numbers& numbers, std::string_view unit, bool after_cycle) {
  if (numbers.all()) return after_cycle ? "" : fmt::format(" of every {}", unit);
  const bool row = numbers.count == 1 || numbers.step == 1;
  if (row && unit == "hour") {
    return fmt::format(" from {:02}:00 to {:02}:59", numbers.first, numbers.last);
  }
  if (numbers.count == 1) return fmt::format(" in {} {}", unit, numbers.first);
  if (numbers.step > 1) {
    return fmt::format(" in every {} {}{}", ordinal(numbers.step), unit, from_to(numbers, unit));
  }
  return fmt::format(" in {}s {}", unit, joined(runs(numbers, plain)));
}

constexpr unsigned kMaxClockTimes = 6;

// "At 09:00 and 17:30"; empty if that would be too many times, or if they follow elapsed time.
std::string clock_times(const Cron& cron) {
  if (std::popcount(cron.seconds) != 1 ||
      std::popcount(cron.minutes) * std::popcount(cron.hours) > int{kMaxClockTimes}) {
    return "";
  }
  const int second = std::countr_zero(cron.seconds);
  Words times;
  for (int hour = 0; hour < 24; ++hour) {
    for (int minute = 0; minute < 60; ++minute) {
      if ((cron.hours >> hour & 1) == 0 || (cron.minutes >> minute & 1) == 0) continue;
      std::string time = fmt::format("{:02}:{:02}", hour, minute);
      if (second > 0) time += fmt::format(":{:02}", second);
      times.push_back(std::move(time));
    }
  }
  return "At " + joined(times);
}

std::string intervals(const Cron& cron) {
  const Numbers seconds(cron.seconds, 0, 59);
  const Numbers minutes(cron.minutes, 0, 59);
  const Numbers hours(cron.hours, 0, 23);
  const auto cycle = [](const Numbers& numbers) { return numbers.all() || numbers.cyclic(); };
  std::string text;
  bool after_cycle = false;
  if (cron.seconds == 1) {
    text = leading(minutes, "minute");
    after_cycle = cycle(minutes);
  } else {
    text = leading(seconds, "second") + within(minutes, "minute", cycle(seconds));
    after_cycle = cycle(minutes);
  }
  return text + within(hours, "hour", after_cycle);
}

// "day 1, the last day and the weekday nearest day 15"
std::string days_of_month(const Cron& cron) {
  Words words;
  if (cron.days != 0) {
    const Numbers days(cron.days, 1, 31);
    if (days.step > 1) {
      std::string text = fmt::format("every {} day from day {}", ordinal(days.step), days.first);
      if (!days.to_the_end()) text += fmt::format(" to day {}", days.last);
      words.push_back(std::move(text));
    } else {
      const Words each = runs(days, plain);
      words.push_back(fmt::format("day{} {}", days.count == 1 ? "" : "s", joined(each)));
    }
  }
  if (cron.nearest_days != 0) {
    for (unsigned day = 1; day <= 31; ++day) {
      if ((cron.nearest_days >> day & 1) == 0) continue;
      words.push_back(fmt::format("the weekday nearest day {}", day));
    }
  }
  if (cron.last_working_day) words.emplace_back("the last weekday");
  if (cron.last_day) words.emplace_back("the last day");
  return joined(words) + " of the month";
}

// "Monday to Friday", "the third Friday of the month"
std::string days_of_week(const Cron& cron, std::string_view last_joint) {
  Words words;
  if (cron.weekdays != 0) {
    // Rotated so that Monday comes first.
    const unsigned from_monday = (cron.weekdays >> 1U | cron.weekdays << 6U) & 0x7fU;
    words = runs(Numbers(from_monday, 0, 6),
                 [](unsigned i) { return std::string(kWeekdays[(i + 1) % 7]); });
  }
  Words in_month;
  for (unsigned i = 0; i < 35; ++i) {
    if ((cron.nth_weekdays >> i & 1) != 0) {
      in_month.push_back(fmt::format("the {} {}", kNth[i / 7], kWeekdays[i % 7]));
    }
  }
  for (unsigned i = 0; i < 7; ++i) {
    if ((cron.last_weekdays >> i & 1) != 0) {
      in_month.push_back(fmt::format("the last {}", kWeekdays[i]));
    }
  }
  if (!in_month.empty()) in_month.back() += " of the month";
  words.insert(words.end(), in_month.begin(), in_month.end());
  return joined(words, last_joint);
}

// With a leading blank; empty for every day.
std::string days(const Cron& cron) {
  const bool any_day = cron.days == 0xfffffffe;
  const bool any_weekday = cron.weekdays == 0x7f;
  if (any_day && any_weekday) return "";
  if (!cron.both_days) {
    if (any_day || any_weekday) return "";
    return fmt::format(" on {} or on {}", days_of_month(cron), days_of_week(cron, "or"));
  }
  if (any_day) return " on " + days_of_week(cron, "and");
  if (any_weekday) return " on " + days_of_month(cron);
  return fmt::format(" on {} if it is {}", days_of_month(cron), days_of_week(cron, "or"));
}

std::string months(const Cron& cron) {
  const Numbers numbers(cron.months, 1, 12);
  if (numbers.all()) return "";
  return " in " + joined(runs(numbers, [](unsigned i) { return std::string(kMonths[i - 1]); }));
}

std::string describe_cron(const Cron& cron, std::string_view zone) {
  std::string text = clock_times(cron);
  const std::string on_days = days(cron);
  if (text.empty()) {
    text = intervals(cron) + on_days;
  } else {
    text += on_days.empty() ? " every day" : on_days;
  }
  return text + months(cron) + fmt::format(", {}", zone);
}

std::string describe_every(const Every& every, const Timing& timing) {
  struct Unit {
    std::int64_t ms;
    std::string_view name;
  };
  constexpr std::array<Unit, 5> kUnits{{{86'400'000, "day"},
                                        {3'600'000, "hour"},
                                        {60'000, "minute"},
                                        {1'000, "second"},
                                        {1, "millisecond"}}};
  Words words;
  std::int64_t left = every.interval.count();
  for (const Unit& unit : kUnits) {
    const std::int64_t count = left / unit.ms;
    left %= unit.ms;
    if (count == 0) continue;
    // "Every day", but "Every 1 day and 12 hours".
    const bool alone = count == 1 && words.empty() && left == 0;
    words.push_back(alone ? std::string(unit.name)
                          : fmt::format("{} {}{}", count, unit.name, count == 1 ? "" : "s"));
  }
  std::string text = "Every " + joined(words);
  if (timing.start_at) text += ", counted from " + format_rfc3339(*timing.start_at);
  return text;
}

}  // namespace

std::string describe(const Timing& timing, std::string_view zone) {
  if (const auto* every = std::get_if<Every>(&timing.rule)) return describe_every(*every, timing);
  return describe_cron(std::get<Cron>(timing.rule), zone);
}

}  // namespace millrace::calendar
