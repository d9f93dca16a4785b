// SQLite's files on a simulated disk. It imitates SQLite's own layer for Unix, call by call: the
// same locks, the same syncs of directories, the same reactions to errors. The memory that
// connections share for a write-ahead log is heap memory, lost with the process. A real system
// behaves alike: the first connection initialises that memory again.
#pragma once

#include "sim/crash_points/disk.h"

namespace millrace::crash_points {

// Puts all later databases of this process on `disk`, which must outlive them. Call only once.
void install_vfs(Disk& disk);

// After a death: no file is open and no lock is held. Earlier connections must not be used any
// more.
void forget_open_databases();

}  // namespace millrace::crash_points
