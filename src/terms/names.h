// The names of an enumeration's values, as users, logs and tables know them: one table for each
// enumeration, beside it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace millrace::terms {

template <typename T>
struct Named {
  T value;
  std::string_view name;
};

// The names of all values up to kLast. A table that lacks a value, or has two in the wrong order,
// does not compile.
template <auto kLast, std::size_t N>
consteval auto names_up_to(const Named<decltype(kLast)> (&table)[N]) {
  static_assert(N == static_cast<std::size_t>(kLast) + 1, "a value has no name");
  std::array<std::string_view, N> names;
  for (std::size_t i = 0; i < N; ++i) {
    if (static_cast<std::size_t>(table[i].value) != i) throw "a value is out of order";
    names[i] = table[i].name;
  }
  return names;
}

// Specialized for each enumeration.
template <typename T>
inline constexpr std::array<std::string_view, 0> kNames{};

template <typename T>
concept HasNames = kNames<T>.size() > 0;

template <HasNames T>
constexpr std::string_view name_of(T value) {
  return kNames<T>.at(static_cast<std::size_t>(value));
}

template <HasNames T>
constexpr std::optional<T> value_named(std::string_view name) {
  const auto found = std::ranges::find(kNames<T>, name);
  if (found == kNames<T>.end()) return std::nullopt;
  return static_cast<T>(found - kNames<T>.begin());
}

}  // namespace millrace::terms
