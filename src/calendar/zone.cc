#include "calendar/zone.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace millrace::calendar {
namespace {

int year_of(std::int64_t second) {
  using namespace std::chrono;
  const year_month_day date{floor<days>(sys_seconds{seconds{second}})};
  return static_cast<int>(date.year());
}

}  // namespace

Zone::Zone(std::int32_t first_offset, std::vector<Transition> transitions,
           std::optional<PosixRule> rule)
    : first_offset_(first_offset), rule_(rule) {
  // Transitions outside the supported range only determine the first offset.
  for (const Transition& transition : transitions) {
    MILLRACE_CHECK(transition.offset > -kMaxOffset && transition.offset < kMaxOffset);
    if (transition.at < kMinSecond) {
      first_offset_ = transition.offset;
    } else if (transition.at <= kMaxSecond) {
      MILLRACE_CHECK(transitions_.empty() || transitions_.back().at < transition.at);
      transitions_.push_back(transition);
    }
  }
  transitions_.shrink_to_fit();
}

Span Zone::span_at(std::int64_t second) const {
  const auto after = std::upper_bound(
      transitions_.begin(), transitions_.end(), second,
      [](std::int64_t at, const Transition& transition) { return at < transition.at; });
  Span span;
  if (after != transitions_.end()) span.end = after->at;
  if (after == transitions_.begin()) {
    span.offset = span.before = first_offset_;
    if (transitions_.empty() && rule_) return span_by_rule(second);
    return span;
  }
  const auto last = std::prev(after);
  span.begin = last->at;
  span.offset = last->offset;
  span.before = last == transitions_.begin() ? first_offset_ : std::prev(last)->offset;
  if (after != transitions_.end() || !rule_) return span;

  const Span by_rule = span_by_rule(second);
  if (by_rule.begin > span.begin) return by_rule;
  span.end = by_rule.end;
  span.offset = by_rule.offset;
  return span;
}

Span Zone::span_by_rule(std::int64_t second) const {
  Span span;
  span.offset = span.before = rule_->standard_s;
  if (!rule_->daylight) return span;
  const PosixRule::Daylight& daylight = *rule_->daylight;

  // A yearly change may be a week away from its day: two years on each side are enough.
  std::array<Transition, 10> changes{};
  std::size_t count = 0;
  const int year = year_of(second);
  for (int y = year - 2; y <= year + 2; ++y) {
    Transition begin{daylight.begin.local_second(y) - rule_->standard_s, daylight.offset_s};
    Transition end{daylight.end.local_second(y) - daylight.offset_s, rule_->standard_s};
    if (end.at < begin.at) std::swap(begin, end);
    changes[count++] = begin;
    changes[count++] = end;
  }
  for (auto change = changes.begin(); change != changes.end();
       ++change) {  // stable; nearly sorted already
    const auto place =
        std::upper_bound(changes.begin(), change, *change,
                         [](const Transition& a, const Transition& b) { return a.at < b.at; });
    std::rotate(place, change, std::next(change));
  }

  // If daylight saving ends at the instant at which it begins again, it continues.
  span.begin = changes.front().at;
  span.end = changes.back().at;
  span.offset = span.before = changes.front().offset;
  for (std::size_t i = 1; i < count; ++i) {
    if (i + 1 < count && changes[i + 1].at == changes[i].at) continue;
    if (changes[i].at > second) {
      if (changes[i].offset == span.offset) continue;
      span.end = changes[i].at;
      break;
    }
    if (changes[i].offset == span.offset) continue;
    span.before = std::exchange(span.offset, changes[i].offset);
    span.begin = changes[i].at;
  }
  return span;
}

}  // namespace millrace::calendar
