// A program of tomorrow, for tests of upgrades: built with MILLRACE_TOMORROW (preset `tomorrow`),
// it knows one level more than today's, of what is stored and of what nodes say to each other. With
// that level came a member of a job, an event and a column that today's program can't read, of jobs
// with a type of their own. `tools/soak upgrade tomorrow` upgrades today's program to it under
// load. Elsewhere kOfTomorrow is the constant false, and nothing of this is in the binary.
#pragma once

#include <string_view>

namespace millrace {

#ifdef MILLRACE_TOMORROW
inline constexpr bool kOfTomorrow = true;
#else
inline constexpr bool kOfTomorrow = false;
#endif

// No name to today's program.
inline constexpr std::string_view kTypeOfTomorrow = "~tomorrow";

constexpr bool is_of_tomorrow([[maybe_unused]] std::string_view type) {
  if constexpr (kOfTomorrow) {
    return type == kTypeOfTomorrow;
  } else {
    return false;
  }
}

}  // namespace millrace
