// For tests: checks that a record's list (describe.h) names each member once.
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <variant>

#include <boost/pfr/tuple_size.hpp>

#include "core/describe.h"
#include "core/jobs/job.h"

namespace millrace::core {

// The number of listed members of `Record` that belong to `Part`; 0: one is listed twice.
template <typename Record, typename Part>
consteval std::size_t members_named() {
  std::size_t count = 0;
  bool twice = false;
  for_each_field<Record>([&](auto one) {
    constexpr auto kOne = one.value;
    if (!std::same_as<typename decltype(kOne)::OfRecord, Part>) return;
    if (kOne.form == Form::kOfTomorrow) return;  // it replaces another member
    ++count;
    std::size_t met = 0;
    for_each_field<Record>([&](auto other) {
      constexpr auto kOther = other.value;
      if constexpr (std::same_as<decltype(kOne), decltype(kOther)>) {
        if (kOther.form != Form::kOfTomorrow) met += kOne.member == kOther.member;
      }
    });
    twice = twice || met != 1;
  });
  return twice ? 0 : count;
}

// Whether the numbers ascend in the message and in the row. A member without a number is in
// neither.
template <typename Record>
consteval bool numbers_ascend() {
  std::uint32_t last = 0;
  bool ascend = true;
  for_each_field<Record>([&](auto one) {
    constexpr auto kOne = one.value;
    const bool is_apart = kOne.form == Form::kApart || kOne.form == Form::kUnsent;
    ascend = ascend && is_apart == (kOne.number == 0) && (is_apart || kOne.number > last);
    if (!is_apart) last = kOne.number;
    for_each_field<Record>([&](auto other) {
      constexpr auto kOther = other.value;
      const bool same_row = kOne.row != 0 && kOne.row == kOther.row;
      ascend = ascend && (!same_row || kOne.number == kOther.number);
    });
  });
  return ascend;
}

template <typename Record>
consteval bool is_whole() {
  return members_named<Record, Record>() == boost::pfr::tuple_size_v<Record> &&
         numbers_ascend<Record>();
}
template <>
consteval bool is_whole<Job>() {
  return members_named<Job, JobHot>() == boost::pfr::tuple_size_v<JobHot> &&
         members_named<Job, JobCold>() == boost::pfr::tuple_size_v<JobCold> &&
         numbers_ascend<Job>();
}

template <typename... Records>
consteval bool are_whole() {
  return (is_whole<Records>() && ...);
}
// Applies to each alternative of a variant that is a record.
template <typename Variant>
struct Alternatives;
template <typename... Records>
struct Alternatives<std::variant<Records...>> {
  template <typename Record>
  static consteval bool is_whole_record() {
    if constexpr (Described<Record>) {
      return is_whole<Record>();
    } else {
      return true;  // itself a variant, or a single value
    }
  }
  static constexpr bool kAreWhole = (is_whole_record<Records>() && ...);
};

}  // namespace millrace::core
