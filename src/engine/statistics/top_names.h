// Finds the most counted of very many names, for which a hundred series are kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/string_map.h"

namespace millrace::engine {

// The most names counted at a time. While there are this many, new names are not counted.
inline constexpr std::size_t kCountedNames = 2'000;

class TopNames {
 public:
  explicit TopNames(std::size_t most) : most_(most) {}

  // Whether the name is among the top now. The first names are in it at once.
  bool wants(std::string_view name);
  void count(std::string_view name, std::uint64_t events);
  // Call once a minute: chooses the top again, and halves all counts. Returns the names that are no
  // longer among the top.
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
