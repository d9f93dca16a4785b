// Records that describe themselves. A record is an aggregate with one list of its members, next to
// it in *_fields.h:
//
//   constexpr auto describe(Of<Mark>) {
//     return std::tuple(Field(1, &Mark::kind), Field(2, &Mark::at));
//   }
//
// Equality (same.h), the state's digest, messages and rows (store/record_wire.h) and the arbitrary
// values of tests follow from it. A member that is missing in its list does not compile:
// describe_test.cc counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace millrace::core {

// Names a type as an argument, so that a record's list is found in the record's namespace.
template <typename T>
struct Of {};

// How a message holds a member, where the member's type does not tell.
enum class Form : std::uint8_t {
  kOfItsType,
  kName,        // met again and again: written once in a batch, and referred to by number
  kPolicy,      // the same for a retry policy
  kOwnPolicy,   // a retry policy that may be absent: null
  kFixed,       // always eight bytes
  kType,        // a job's type: a name
  kOfTomorrow,  // see base/tomorrow.h
  kApart,       // what holds the message has it, in a column or in another field
  kUnsent,      // matters on this node alone
};

// One member. A pointer into a base of the record will do.
template <typename Record, typename Value>
struct Field {
  using OfRecord = Record;

  std::uint32_t number;  // in the record's message: never given to another member
  Value Record::* member;
  Form form = Form::kOfItsType;
  std::uint32_t row = 0;    // in the message beside a row's columns; 0: a column has it
  std::uint32_t level = 0;  // a node below this peer level is not sent it

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

// An enumeration whose values are counted up to the last one: last_of(Of<State>()).
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
