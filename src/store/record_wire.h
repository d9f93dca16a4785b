// Messages and rows of the records that describe themselves (core/describe.h). WireWriter and
// WireReader both walk a record's list, so that they can't disagree.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/tomorrow.h"
#include "core/describe.h"
#include "core/jobs/job_fields.h"
#include "store/field_forms.h"
#include "store/wire.h"

namespace millrace::store {

template <typename T>
struct Unwrapped {
  using Type = T;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
};

template <typename T>
inline constexpr bool kIsCounts = false;
template <std::size_t Size>
inline constexpr bool kIsCounts<std::array<std::uint64_t, Size>> = true;

// A member in the form of its type. An optional member is absent if it has no value.
template <typename Wire, typename Member>
void typed_field(Wire& wire, int number, Member& member) {
  using Whole = std::remove_const_t<Member>;
  using Value = typename Unwrapped<Whole>::Type;
  if constexpr (HasFieldForm<Whole>) {
    FieldForm<Whole>::field(wire, number, member);
  } else if constexpr (std::same_as<Value, bool>) {
    wire.flag(number, member);
  } else if constexpr (std::same_as<Value, Time>) {
    wire.time(number, member);
  } else if constexpr (std::same_as<Value, Duration>) {
    wire.duration(number, member);
  } else if constexpr (std::same_as<Value, std::vector<Duration>>) {
    wire.durations(number, member);
  } else if constexpr (std::same_as<Value, std::vector<Time>>) {
    wire.times(number, member);
  } else if constexpr (core::Enumerated<Value>) {
    wire.enumeration(number, member, last_of(core::Of<Value>()));
  } else if constexpr (std::unsigned_integral<Value> || std::is_enum_v<Value>) {
    wire.number(number, member);
  } else if constexpr (std::same_as<Value, std::int16_t>) {
    wire.signed_number(number, member);
  } else if constexpr (std::same_as<Value, double>) {
    wire.real(number, member);
  } else if constexpr (kIsCounts<Value>) {
    wire.numbers(number, member);
  } else if constexpr (std::same_as<Value, JobId>) {
    wire.id(number, member);
  } else if constexpr (std::same_as<Value, Fingerprint>) {
    wire.fingerprint(number, member);
  } else if constexpr (std::same_as<Whole, std::optional<std::vector<SharedBytes>>>) {
    wire.bytes_list(number, member);
  } else if constexpr (std::same_as<Value, SharedBytes> ||
                       std::same_as<Value, std::vector<SharedBytes>>) {
    wire.bytes(number, member);
  } else {
    wire.message(number, member);
  }
}

// See base/tomorrow.h: a job of tomorrow has its type in a field that today's program does not
// read.
template <typename Wire, typename Type>
void type_field(Wire& wire, int number, Type& type) {
  if constexpr (kOfTomorrow && std::is_const_v<Type>) {
    if (is_of_tomorrow(type.view())) return;
  }
  wire.name(number, type);
}
template <typename Wire, typename Type>
void tomorrow_field(Wire& wire, int number, Type& type) {
  if constexpr (std::is_const_v<Type>) {
    if (is_of_tomorrow(type.view())) wire.bytes(number, type);
  } else {
    SharedBytes member;
    wire.bytes(number, member);
    if (!member.empty()) type = member;
  }
}

// `T` is const for the writer, here and below.
template <typename Wire, typename T>
  requires core::Described<std::remove_const_t<T>>
void describe(Wire& wire, T& record) {
  core::for_each_field<std::remove_const_t<T>>([&](auto constant) {
    using core::Form;
    constexpr auto kField = constant.value;
    constexpr auto kNumber = static_cast<int>(kField.number);
    auto& member = record.*kField.member;
    if constexpr (kField.level > 0) {
      if (!wire.speaks(kField.level)) return;
    }
    if constexpr (kField.form == Form::kName) {
      wire.name(kNumber, member);
    } else if constexpr (kField.form == Form::kPolicy) {
      wire.policy(kNumber, member);
    } else if constexpr (kField.form == Form::kOwnPolicy) {
      wire.own_policy(kNumber, member);
    } else if constexpr (kField.form == Form::kFixed) {
      wire.fixed(kNumber, member);
    } else if constexpr (kField.form == Form::kType) {
      type_field(wire, kNumber, member);
    } else if constexpr (kField.form == Form::kOfTomorrow) {
      tomorrow_field(wire, kNumber, member);
    } else if constexpr (kField.form == Form::kOfItsType) {
      typed_field(wire, kNumber, member);
    }
  });
}

// The indexes in a record's list of the members that a row keeps beside its columns, sorted by
// their numbers in the row.
template <typename T>
consteval auto fields_in_row() {
  constexpr auto kRows = [] {
    return std::apply([](const auto&... field) { return std::array{field.row...}; },
                      core::kFields<T>);
  }();
  std::array<std::size_t, std::ranges::count_if(kRows, [](auto row) { return row > 0; })> places{};
  std::size_t count = 0;
  for (std::size_t place = 0; place < kRows.size(); ++place) {
    if (kRows[place] > 0) places[count++] = place;
  }
  std::ranges::sort(places, {}, [&](std::size_t place) { return kRows[place]; });
  return places;
}

// The members of a record that have no column of their own.
template <typename T>
struct RowDetail {
  T& record;
};

template <typename Wire, typename T>
void describe(Wire& wire, const RowDetail<T>& detail) {
  using Record = std::remove_const_t<T>;
  static constexpr auto kPlaces = fields_in_row<Record>();
  const auto one = [&]<std::size_t Place>() {
    constexpr auto kField = std::get<Place>(core::kFields<Record>);
    constexpr auto kNumber = static_cast<int>(kField.row);
    auto& member = detail.record.*kField.member;
    if constexpr (kField.form == core::Form::kOfTomorrow) {
      tomorrow_field(wire, kNumber, member);
    } else {
      typed_field(wire, kNumber, member);
    }
  };
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (one.template operator()<kPlaces[Index]>(), ...);
  }(std::make_index_sequence<kPlaces.size()>());
}

}  // namespace millrace::store
