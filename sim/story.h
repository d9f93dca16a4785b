// The events of a run, for a person to read. Produced only if there is a listener, since most runs
// are never looked at.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "base/time.h"

namespace millrace::sim {

class Story {
 public:
  // Null: no listener.
  explicit Story(std::FILE* listener) : listener_(listener) {}

  bool told() const { return listener_ != nullptr; }
  void at(Time now) {
    if (!begin_) begin_ = now;
    now_ = now;
  }
  template <typename... Args>
  void tell(fmt::format_string<Args...> text, Args&&... args) {
    if (listener_ == nullptr) return;
    const Duration since = now_ - begin_.value_or(now_);
    fmt::print(listener_, "{:>12.3f} s  {}\n", static_cast<double>(since.count()) / 1'000,
               fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  std::FILE* listener_;
  std::optional<Time> begin_;
  Time now_{};
};

}  // namespace millrace::sim
