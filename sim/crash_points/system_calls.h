// The store accesses files other than SQLite's (its lock and marker, renames, repairs) through the
// C library. The linker redirects those calls to this file (--wrap, see CMakeLists.txt), so that
// the store's own code runs unchanged. Paths in the simulated directories are on the simulated
// disk; all others are on the real system.
#pragma once

#include <string>
#include <vector>

#include "sim/crash_points/disk.h"

namespace millrace::crash_points {

// `directories` must also exist, empty, on the real system. Also makes getrandom() repeatable.
void install_system_calls(Disk& disk, std::vector<std::string> directories);

// After a death: closes all descriptors.
void forget_descriptors();

}  // namespace millrace::crash_points
