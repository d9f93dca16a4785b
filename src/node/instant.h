// The time as the callers of a node's parts give it.
#pragma once

#include <chrono>

namespace millrace::node {

// Since the machine started, including suspension: engine::TimeSource::since_boot().
using Instant = std::chrono::nanoseconds;

}  // namespace millrace::node
