// A set of job states.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/jobs/job.h"

namespace millrace::core {

struct StateSet {
  std::uint16_t left_out = 0;  // one bit a state; zero: the set of all states

  static constexpr unsigned bit(State state) { return 1U << static_cast<unsigned>(state); }
  static constexpr StateSet of(std::initializer_list<State> states) {
    StateSet set{(1U << kStateCount) - 1};
    for (const State state : states) set.add(state);
    return set;
  }
  constexpr void add(State state) { left_out = static_cast<std::uint16_t>(left_out & ~bit(state)); }
  constexpr void remove(State state) {
    left_out = static_cast<std::uint16_t>(left_out | bit(state));
  }
  friend bool operator==(const StateSet&, const StateSet&) = default;
  constexpr bool contains(State state) const { return (left_out & bit(state)) == 0; }
};

}  // namespace millrace::core
