// Records that describe themselves. A record is an aggregate with one list of its members, next to
// it in *_fields.h:
//
//   constexpr auto describe(Of<Mark>) {
//     return std::tuple(Field(1, &Mark::kind), Field(2, &Mark::at));
//   }
//
// This list defines the record's equality (same.h), the state's digest, messages and rows
// (store/record_wire.h) and the tests' arbitrary values. describe_test.cc counts the members: a
// list that lacks one does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "terms/names.h"

namespace millrace::core {

// Names a type as an argument, so that a record's list is found in the record's namespace.
template <typename T>
struct Of {};

// How a message holds a member, where the member's type does not determine it.
enum class Form : std::uint8_t {
  kOfItsType,
  kName,        // often repeated: written once a batch, then referred to by number
  kPolicy,      // the same for a retry policy
  kOwnPolicy,   // a retry policy that may be absent: null
  kFixed,       // always eight bytes
  kType,        // a job's type: a name
  kOfTomorrow,  // see base/tomorrow.h
  kApart,       // the containing message holds it, in a column or in another field
  kUnsent,      // meaningful on this node only; never sent
};

// One member. The pointer may point into a base class of the record.
template <typename Record, typename Value>
struct Field {
  using OfRecord = Record;

  std::uint32_t number;  // in the record's message; never reused for another member
  Value Record::* member;
  Form form = Form::kOfItsType;
  std::uint32_t row = 0;    // in the message beside a row's columns; 0: a column has it
  std::uint32_t level = 0;  // not sent to a node below this peer level

  constexpr Field in_row(std::uint32_t row_number) const {
    return {number, member, form, row_number, level};
  }
  constexpr Field since(std::uint32_t peer_level) const {
    return {number, member, form, row, peer_level};
  }
};
template <typename Record, typename Value>
Field(std::uint32_t, Value Record::*) -> Field<Record, Value>;
template <typename Record, typename Value>
Field(std::uint32_t, Value Record::*, Form) -> Field<Record, Value>;

template <typename T>
concept Described = requires { describe(Of<T>()); };

template <typename T>
inline constexpr auto kFields = describe(Of<T>());
template <typename T>
inline constexpr std::size_t kFieldCount = std::tuple_size_v<decltype(describe(Of<T>()))>;

// An enumeration that names its last value, last_of(Of<T>()), or all of them (terms/names.h).
template <terms::HasNames T>
constexpr T last_of(Of<T>) {
  return static_cast<T>(terms::kNames<T>.size() - 1);
}
template <typename T>
concept Enumerated = std::is_enum_v<T> && requires { last_of(Of<T>()); };

// Calls visit(constant) for each field of the record, in the list's order; `constant.value` is the
// field, a constant expression.
template <auto kValue>
struct Constant {
  static constexpr auto value = kValue;
};
template <typename T, typename Visit>
constexpr void for_each_field(Visit visit) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (visit(Constant<std::get<Index>(kFields<T>)>()), ...);
  }(std::make_index_sequence<kFieldCount<T>>());
}

}  // namespace millrace::core
