// Runs lives in child processes, so that a failed CHECK is a finding like any other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/world/marks.h"
#include "sim/world/world.h"

namespace millrace::sim {

struct Finding {
  std::string id;  // of the broken promise; "CHECK": an assertion in the server
  std::string text;
  std::uint64_t actions = 0;  // the number of actions begun
};

struct Life {
  Outcome outcome;
  Marks marks;
  std::optional<Finding> finding;
};

enum class Telling : std::uint8_t { kSilent, kStory };

// Runs a plan in a child process and waits for it. With kStory the child prints the events on
// standard output. A life that uses more than two minutes of CPU time is killed: finding "HANG".
Life live(const Plan& plan, Telling telling);

}  // namespace millrace::sim
