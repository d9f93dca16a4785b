// Bit flips in the databases' files while they are closed.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "sim/crash_points/explorer.h"

namespace millrace::crash_points {

// Runs the workload, stops, and flips `count` bits, one at a time, in bodies of journal rows and
// anywhere in both files. Verification must name the page of each. A start that needs the row must
// be refused. A start that succeeds must serve all that was acknowledged.
void flip_bits(const Explorer::World& world, std::uint64_t count, Random random);

}  // namespace millrace::crash_points
