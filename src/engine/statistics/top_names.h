// Which names of very many count most: what a hundred series are kept of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/string_map.h"

namespace millrace::engine {

// Names that are counted at a time. While so many are, a new one is not.
inline constexpr std::size_t kCountedNames = 2'000;

class TopNames {
 public:
  explicit TopNames(std::size_t most) : most_(most) {}

  // Whether the name is among the top now. The first ones are at once.
  bool wants(std::string_view name);
  void count(std::string_view name, std::uint64_t events);
  // Once a minute: the top is chosen anew, and what was counted counts half from now on. Returns
  // the names that are no longer among the top.
  std::vector<std::string> choose();

  void clear() {
    names_.clear();
    chosen_ = 0;
  }
  void save(std::string& out) const;
  bool load(std::string_view content);

 private:
  struct Name {
    std::uint64_t score = 0;
    bool chosen = false;
  };
  const std::size_t most_;
  std::size_t chosen_ = 0;
  OrderedStringMap<Name> names_;
};

}  // namespace millrace::engine
