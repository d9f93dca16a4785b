// Maps keyed by text that can be looked up by std::string_view. (Debian builds Abseil with a
// string_view of its own, which its default hashers take instead.)
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"

namespace millrace {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

template <typename T>
using StringMap = absl::flat_hash_map<std::string, T, StringHash, std::equal_to<>>;
template <typename T>
using OrderedStringMap = absl::btree_map<std::string, T, std::less<>>;

}  // namespace millrace
