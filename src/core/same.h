// Equality by content, through pointers, for records that describe themselves and for their
// members.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/describe.h"

namespace millrace::core {

template <typename T>
bool same(const T& a, const T& b);

template <typename T>
bool same_value(const T& a, const T& b) {
  if constexpr (Described<T>) {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return (same(a.*std::get<Index>(kFields<T>).member, b.*std::get<Index>(kFields<T>).member) &&
              ...);
    }(std::make_index_sequence<kFieldCount<T>>());
  } else {
    return a == b;
  }
}
template <typename T>
bool same_value(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return same(x, y); });
}
template <typename T>
bool same_value(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
template <typename T>
bool same_value(const std::shared_ptr<T>& a, const std::shared_ptr<T>& b) {
  return a == b || (a != nullptr && b != nullptr && same<std::remove_const_t<T>>(*a, *b));
}
template <typename... Alternatives>
bool same_value(const std::variant<Alternatives...>& a, const std::variant<Alternatives...>& b) {
  return a.index() == b.index() &&
         std::visit([&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b)); },
                    a);
}

template <typename T>
bool same(const T& a, const T& b) {
  return same_value(a, b);
}

}  // namespace millrace::core
