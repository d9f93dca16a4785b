// Time, as those who run a node tell it.
#pragma once

#include <chrono>

namespace millrace::node {

// Since the machine started, its sleep included: engine::TimeSource::since_boot().
using Instant = std::chrono::nanoseconds;

}  // namespace millrace::node
