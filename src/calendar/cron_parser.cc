#include "calendar/cron_parser.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <optional>
#include <span>

#include "base/ascii.h"

namespace millrace::calendar {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                   "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdays{"SUN", "MON", "TUE", "WED",
                                                    "THU", "FRI", "SAT"};

struct Field {
  std::string_view name;
  unsigned min;
  unsigned max;
  std::span<const std::string_view> names;  // of min, min + 1, ...
  std::string_view may;                     // the accepted forms
};

constexpr Field kSecond{
    "second",
    0,
    59,
    {},
    "0 to 59, *, a range such as 0-30, a step such as */10, or a list of these"};
constexpr Field kMinute{
    "minute",
    0,
    59,
    {},
    "0 to 59, *, a range such as 0-30, a step such as */10, or a list of these"};
constexpr Field kHour{
    "hour", 0, 23, {}, "0 to 23, *, a range such as 9-17, a step such as */6, or a list of these"};
constexpr Field kDayOfMonth{
    "day of month",
    1,
    31,
    {},
    "1 to 31, *, ?, L (the last), 15W (the Monday to Friday nearest the 15th), LW, a range such as "
    "1-7, a step such as */2, or a list of these"};
constexpr Field kMonth{
    "month", 1, 12, kMonths,
    "1 to 12, JAN to DEC, *, a range such as JAN-MAR, a step such as */3, or a list of these"};
constexpr Field kDayOfWeek{
    "day of week", 0, 7, kWeekdays,
    "0 to 7 (0 and 7 are Sunday, 5 is Friday), SUN to SAT, *, ?, 5#3 (the third Friday), 5L (the "
    "last), a range such as MON-FRI, or a list of these"};

constexpr std::uint64_t bit(unsigned number) { return std::uint64_t{1} << number; }

// Bits `first` to `last`, each `step`-th.
std::uint64_t bits(unsigned first, unsigned last, unsigned step) {
  std::uint64_t mask = 0;
  for (unsigned i = first; i <= last; i += step) mask |= bit(i);
  return mask;
}

// Formatted for a message: printable, and not long.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string out(text.substr(0, kShown));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out + (text.size() > kShown ? "..." : "");
}

// Both parts of "a<separator>b"; the second is none without a separator.
struct Halves {
  std::string_view first;
  std::optional<std::string_view> second;
};
Halves split(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::optional<unsigned> number(std::string_view text) {
  if (text.empty() || text.size() > 3) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

// Parses one field into a mask, or directly into the expression.
class FieldReader {
 public:
  FieldReader(const Field& field, std::string_view text, Cron& cron)
      : field_(field), text_(text), cron_(cron) {}

  Status read(std::uint64_t& mask) {
    if (text_ == "?" && takes_any()) {
      mask = bits(field_.min, field_.max, 1);
      return {};
    }
    std::optional<std::string_view> rest = text_;
    while (rest) {
      const Halves halves = split(*rest, ',');
      if (!special(halves.first)) {
        if (!item(halves.first, mask)) return refused(halves.first);
      }
      if (!why_.empty()) return refused(halves.first);
      rest = halves.second;
    }
    return {};
  }

 private:
  bool is(const Field& field) const { return &field_ == &field; }
  bool takes_any() const { return is(kDayOfMonth) || is(kDayOfWeek); }

  std::optional<unsigned> value(std::string_view text) const {
    for (unsigned i = 0; i < field_.names.size(); ++i) {
      if (equals_ignoring_case(text, field_.names[i])) return field_.min + i;
    }
    const auto found = number(text);
    return found && *found >= field_.min && *found <= field_.max ? found : std::nullopt;
  }

  // "*", "7", "7-20", each with or without "/5".
  bool item(std::string_view text, std::uint64_t& mask) {
    const Halves parts = split(text, '/');
    const auto step = parts.second ? number(*parts.second) : 1;
    if (parts.second && (!step || *step == 0 || *step > field_.max)) {
      why_ = fmt::format("a step is 1 to {}", field_.max);
      return false;
    }
    if (parts.first == "*") {
      mask |= bits(field_.min, field_.max, *step);
      return true;
    }
    const Halves range = split(parts.first, '-');
    const auto first = value(range.first);
    if (!first) return false;
    auto last = first;
    if (range.second) {
      last = value(*range.second);
      if (!last) return false;
      if (is(kDayOfWeek) && *last == 0 && *first > 0) last = 7;  // SAT-SUN
    } else if (parts.second) {
      last = field_.max;
    }
    if (*last < *first) {
      why_ =
          "a range must go from the smaller value to the larger; write two with a comma between "
          "them";
      return false;
    }
    mask |= bits(*first, *last, *step);
    return true;
  }

  // Forms that only day fields accept. False: the text is none of them.
  bool special(std::string_view text) {
    if (is(kDayOfMonth)) return special_day(text);
    if (is(kDayOfWeek)) return special_weekday(text);
    return false;
  }

  bool special_day(std::string_view text) {
    if (equals_ignoring_case(text, "L")) return cron_.last_day = true;
    if (equals_ignoring_case(text, "LW")) return cron_.last_working_day = true;
    if (text.empty() || to_lower(text.back()) != 'w') return false;
    const auto day = value(text.substr(0, text.size() - 1));
    if (day) cron_.nearest_days |= static_cast<std::uint32_t>(bit(*day));
    return day.has_value();
  }

  bool special_weekday(std::string_view text) {
    if (equals_ignoring_case(text, "L")) {
      why_ = "L needs a day; write 6 for each Saturday, or 6L for the month's last";
      return true;
    }
    const Halves parts = split(text, '#');
    if (parts.second) {
      const auto weekday = value(parts.first);
      const auto nth = number(*parts.second);
      if (!weekday || !nth || *nth < 1 || *nth > 5) {
        why_ = "a day of the week must precede #, and a number from 1 to 5 must follow it";
        return true;
      }
      cron_.nth_weekdays |= bit((*nth - 1) * 7 + *weekday % 7);
      return true;
    }
    if (text.empty() || to_lower(text.back()) != 'l') return false;
    const auto weekday = value(text.substr(0, text.size() - 1));
    if (weekday) cron_.last_weekdays |= static_cast<std::uint8_t>(bit(*weekday % 7));
    return weekday.has_value();
  }

  Status refused(std::string_view item) const {
    std::string message = fmt::format("{}: \"{}\" can't stand here", field_.name, shown(item));
    if (item != text_) message += fmt::format(" (in \"{}\")", shown(text_));
    if (!why_.empty()) message += ": " + why_;
    return failure(message + fmt::format("; write {}", field_.may));
  }

  const Field& field_;
  const std::string_view text_;
  Cron& cron_;
  std::string why_;  // a more specific reason
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Stops at seven: more than an expression can have.
std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  std::size_t at = 0;
  while (fields.size() < 7) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (at == text.size()) break;
    const std::size_t begin = at;
    while (at < text.size() && !is_blank(text[at])) ++at;
    fields.push_back(text.substr(begin, at - begin));
  }
  return fields;
}

struct Nickname {
  std::string_view name;
  std::string_view means;
};
constexpr std::array<Nickname, 5> kNicknames{{{"@yearly", "0 0 1 1 *"},
                                              {"@monthly", "0 0 1 * *"},
                                              {"@weekly", "0 0 * * 0"},
                                              {"@daily", "0 0 * * *"},
                                              {"@hourly", "0 * * * *"}}};

bool is_star(std::string_view field) { return field.front() == '*'; }

}  // namespace

Result<Cron> parse_cron(std::string_view text) {
  if (text.size() > kMaxCronBytes) {
    return failure(fmt::format("a cron expression must have at most {} bytes; this one has {}",
                               kMaxCronBytes, text.size()));
  }
  std::vector<std::string_view> fields = fields_of(text);
  if (fields.size() == 1 && fields[0].starts_with('@')) {
    const std::string_view name = fields[0];
    fields.clear();
    for (const Nickname& known : kNicknames) {
      if (equals_ignoring_case(name, known.name)) fields = fields_of(known.means);
    }
    if (fields.empty()) {
      return failure(fmt::format("\"{}\" is not one of @yearly, @monthly, @weekly, @daily, @hourly",
                                 shown(name)));
    }
  }
  if (fields.size() != 5 && fields.size() != 6) {
    return failure(
        fmt::format("a cron expression has five fields (minute, hour, day of month, month, day of "
                    "week), or six with the second first; \"{}\" has {}",
                    shown(text), fields.size() == 7 ? "more" : std::to_string(fields.size())));
  }
  Cron cron;
  std::array<std::uint64_t, 6> masks{1, 0, 0, 0, 0, 0};
  constexpr std::array<const Field*, 6> kFields{&kSecond,     &kMinute, &kHour,
                                                &kDayOfMonth, &kMonth,  &kDayOfWeek};
  const std::size_t skipped = 6 - fields.size();
  if (skipped == 0) masks[0] = 0;
  for (std::size_t i = skipped; i < 6; ++i) {
    const Status read = FieldReader(*kFields[i], fields[i - skipped], cron).read(masks[i]);
    if (!read) return std::unexpected(read.error());
  }
  cron.seconds = masks[0];
  cron.minutes = masks[1];
  cron.hours = static_cast<std::uint32_t>(masks[2]);
  cron.days = static_cast<std::uint32_t>(masks[3]);
  cron.months = static_cast<std::uint16_t>(masks[4]);
  cron.weekdays = static_cast<std::uint8_t>((masks[5] | masks[5] >> 7) & 0x7f);

  const std::string_view minute = fields[1 - skipped];
  const std::string_view hour = fields[2 - skipped];
  const std::string_view day = fields[3 - skipped];
  const std::string_view weekday = fields[5 - skipped];
  cron.fixed_times = !is_star(minute) && !is_star(hour);
  cron.both_days = is_star(day) || is_star(weekday) || day == "?" || weekday == "?";
  if (!next_local(cron, 0)) {
    return failure(
        fmt::format("day of month: \"{}\" never comes in month \"{}\" with day of week \"{}\"; "
                    "write a day that one of the months has",
                    shown(day), shown(fields[4 - skipped]), shown(weekday)));
  }
  return cron;
}

std::vector<std::string> warnings(const Cron& cron) {
  constexpr std::uint64_t kSixty = (std::uint64_t{1} << 60) - 1;
  std::vector<std::string> found;
  if (cron.seconds == kSixty && cron.minutes == kSixty && cron.hours == 0xffffff) {
    found.emplace_back("It fires each second.");
  }
  return found;
}

}  // namespace millrace::calendar
