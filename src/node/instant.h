// The time type used by the callers of a node's parts.
#pragma once

#include <chrono>

namespace millrace::node {

// Since the machine started, including suspension: engine::TimeSource::since_boot().
using Instant = std::chrono::nanoseconds;

}  // namespace millrace::node
