// Bits that flip in the journal's file while nobody has it open.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "sim/crash_points/explorer.h"

namespace millrace::crash_points {

// Runs the workload, stops, and flips `count` bits, one at a time, in the bodies of rows: each must
// be named by a verification, and a start that would need the row must be refused.
void flip_bits(const Explorer::World& world, std::uint64_t count, Random random);

}  // namespace millrace::crash_points
