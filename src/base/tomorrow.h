// A program of tomorrow, for tests of upgrades. Built with MILLRACE_TOMORROW (preset `tomorrow`),
// it knows one more level of both the storage format and the peer protocol than today's. That level
// adds a member of a job, an event and a column that today's program cannot read, for jobs of a
// type of their own. `tools/soak upgrade tomorrow` upgrades today's program to it under load. In
// all other builds kOfTomorrow is the constant false and the binary has none of this.
#pragma once

#include <string_view>

namespace millrace {

#ifdef MILLRACE_TOMORROW
inline constexpr bool kOfTomorrow = true;
#else
inline constexpr bool kOfTomorrow = false;
#endif

// Today's program does not accept it as a name.
inline constexpr std::string_view kTypeOfTomorrow = "~tomorrow";

constexpr bool is_of_tomorrow([[maybe_unused]] std::string_view type) {
  if constexpr (kOfTomorrow) {
    return type == kTypeOfTomorrow;
  } else {
    return false;
  }
}

}  // namespace millrace
