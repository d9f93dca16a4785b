// The only place that reads clocks.
#pragma once

#include "engine/shard/shard_clock.h"

namespace millrace::server {

const engine::TimeSource& system_time();

}  // namespace millrace::server
