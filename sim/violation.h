// The result of a failed run: a broken promise, named as in docs/internals/testing.md.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace millrace::sim {

// Ends a run. Thrown where the violation is detected, caught where the run began.
struct Violation {
  std::string id;  // "DU1", "L3", ...
  std::string text;
};

template <typename... Args>
[[noreturn]] void violated(std::string id, fmt::format_string<Args...> text, Args&&... args) {
  throw Violation{std::move(id), fmt::format(text, std::forward<Args>(args)...)};
}

template <typename... Args>
void demand(bool holds, const char* id, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) [[unlikely]]
    violated(id, text, std::forward<Args>(args)...);
}

}  // namespace millrace::sim
