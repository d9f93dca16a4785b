// What the store does to files beside SQLite (its lock, its marker, renames, repairs) goes through
// the C library. The linker leads those calls here (--wrap, see CMakeLists.txt), so that the
// store's own code runs unchanged: paths in the simulated directories lie on the simulated disk,
// all others are the system's.
#pragma once

#include <string>
#include <vector>

#include "sim/crash_points/disk.h"

namespace millrace::crash_points {

// `directories` are there on the real system too, and empty. Also makes getrandom() repeatable.
void install_system_calls(Disk& disk, std::vector<std::string> directories);

// After a death: no descriptor is open.
void forget_descriptors();

}  // namespace millrace::crash_points
