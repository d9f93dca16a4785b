#include "sim/model/instants.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/check.h"

namespace millrace::sim {
namespace {

unsigned number(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  MILLRACE_CHECK(error == std::errc{} && end == text.data() + text.size());
  return value;
}

// Removes and returns the text before the separator.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

std::int64_t second_of(Time at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}
Time at_second(std::int64_t second) { return Time{std::chrono::seconds{second}}; }

}  // namespace

Instants::Field Instants::read(std::string_view text, unsigned least, unsigned most) {
  Field field;
  field.star = text.starts_with('*');
  while (!text.empty()) {
    std::string_view step = cut(text, ',');
    std::string_view range = cut(step, '/');
    const std::string_view first = cut(range, '-');
    const unsigned from = first == "*" ? least : number(first);
    unsigned to = first == "*" ? most : from;
    if (!range.empty()) to = number(range);
    const unsigned by = step.empty() ? 1 : number(step);
    for (unsigned value = from; value <= to; value += by) field.values |= std::uint64_t{1} << value;
  }
  return field;
}

Instants::Instants(const core::ScheduleSpec& spec, Offsets offsets)
    : offsets_(std::move(offsets)),
      every_(spec.every),
      origin_(spec.start_at.value_or(Time{})),
      start_at_(spec.start_at),
      end_at_(spec.end_at),
      jitter_(spec.jitter),
      skip_gap_(spec.skip_dst_gap),
      twice_(spec.twice_in_dst_overlap) {
  if (spec.cron.empty()) return;
  every_ = {};
  std::string_view text = spec.cron.view();
  const bool seconds = std::ranges::count(text, ' ') == 5;
  constexpr std::array<std::pair<unsigned, unsigned>, 6> kBounds = {
      {{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}}};
  fields_[0] = read(seconds ? cut(text, ' ') : "0", 0, 59);
  for (std::size_t i = 1; i < fields_.size(); ++i) {
    fields_[i] = read(cut(text, ' '), kBounds[i].first, kBounds[i].second);
  }
  if (fields_[5].has(7)) fields_[5].values |= 1;  // Sunday, too
  fixed_ = !fields_[1].star && !fields_[2].star;
}

std::int32_t Instants::offset(std::int64_t second) const {
  if (offsets_.empty()) return 0;
  const auto after = std::ranges::upper_bound(offsets_, second, {},
                                              [](const auto& change) { return change.first; });
  return after == offsets_.begin() ? after->second : std::prev(after)->second;
}

// Whether the expression matches this clock time.
bool Instants::names(std::int64_t local) const {
  const std::chrono::sys_seconds shown{std::chrono::seconds{local}};
  const auto day = std::chrono::floor<std::chrono::days>(shown);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{shown - day};
  const bool in_month = fields_[3].has(static_cast<unsigned>(date.day()));
  const bool in_week = fields_[5].has(std::chrono::weekday{day}.c_encoding());
  const bool both = fields_[3].star || fields_[5].star;
  return fields_[0].has(static_cast<unsigned>(time.seconds().count())) &&
         fields_[1].has(static_cast<unsigned>(time.minutes().count())) &&
         fields_[2].has(static_cast<unsigned>(time.hours().count())) &&
         fields_[4].has(static_cast<unsigned>(date.month())) &&
         (both ? in_month && in_week : in_month || in_week);
}

bool Instants::has_second(std::int64_t second) const {
  const std::int32_t now = offset(second);
  const bool named = names(second + now);
  if (!fixed_ || offsets_.empty()) return named;
  // All times skipped by the clock count as one instant, the first after the gap.
  const std::int32_t before = offset(second - 1);
  for (std::int64_t leapt = second + before; leapt < second + now && !skip_gap_; ++leapt) {
    if (names(leapt)) return true;
  }
  if (!named || twice_) return named;
  return std::ranges::none_of(offsets_, [&](const auto& change) {
    const std::int64_t earlier = second + now - change.second;
    return earlier < second && offset(earlier) == change.second;
  });
}

Time Instants::local(Time at) const { return at + std::chrono::seconds{offset(second_of(at))}; }

bool Instants::has(Time at) const {
  if ((start_at_ && at < *start_at_) || (end_at_ && at > *end_at_)) return false;
  if (every_ > Duration{0}) return (at - origin_) % every_ == Duration{0};
  return at == at_second(second_of(at)) && has_second(second_of(at));
}

std::vector<Time> Instants::between(Time after, Time until) const {
  std::vector<Time> instants;
  if (end_at_) until = std::min(until, *end_at_);
  if (start_at_) after = std::max(after, *start_at_ - Duration{1});
  if (every_ > Duration{0}) {
    const auto counted = std::max<std::int64_t>((after - origin_) / every_ - 1, 0);
    Time at = origin_ + counted * every_;
    while (at <= after) at += every_;
    for (; at <= until; at += every_) instants.push_back(at);
    return instants;
  }
  for (std::int64_t second = second_of(after) + 1; at_second(second) <= until; ++second) {
    if (has_second(second)) instants.push_back(at_second(second));
  }
  return instants;
}

std::optional<Time> Instants::next(Time after) const {
  if (start_at_) after = std::max(after, *start_at_ - Duration{1});
  if (every_ > Duration{0}) {
    const auto instants = between(after, after + every_);
    return instants.empty() ? std::nullopt : std::optional(instants.front());
  }
  const Time until = std::min(after + kHorizon, end_at_.value_or(after + kHorizon));
  for (std::int64_t second = second_of(after) + 1; at_second(second) <= until; ++second) {
    if (has_second(second)) return at_second(second);
  }
  return std::nullopt;
}

Duration Instants::most_jitter(Time instant) const {
  if (jitter_ <= Duration{0}) return Duration{0};
  const auto after = next(instant);
  return after ? std::min(jitter_, *after - instant - Duration{1}) : jitter_;
}

}  // namespace millrace::sim
