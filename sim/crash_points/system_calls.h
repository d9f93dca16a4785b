// The store accesses files other than SQLite's (its lock and marker, renames, repairs) through the
// C library. The linker redirects those calls to here (--wrap, see CMakeLists.txt), so that the
// store's own code runs unchanged. Paths in the simulated directories are on the simulated disk;
// all others are the system's.
#pragma once

#include <string>
#include <vector>

#include "sim/crash_points/disk.h"

namespace millrace::crash_points {

// `directories` must exist on the real system too, and be empty. Also makes getrandom() repeatable.
void install_system_calls(Disk& disk, std::vector<std::string> directories);

// After a death: closes all descriptors.
void forget_descriptors();

}  // namespace millrace::crash_points
