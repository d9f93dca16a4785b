// SQLite's files on a simulated disk. It does what SQLite's own layer for Unix does, call by call:
// the same locks, the same syncs of directories, the same reactions to errors. The memory that
// connections share for a write-ahead log is heap memory, lost with the process. A real system
// behaves alike: the first connection initialises that memory anew.
#pragma once

#include "sim/crash_points/disk.h"

namespace millrace::crash_points {

// From now on all databases of this process are on `disk`, which must outlive them. To be called
// once.
void install_vfs(Disk& disk);

// After a death: no file is open and no lock is held. Connections from before must not be used any
// more.
void forget_open_databases();

}  // namespace millrace::crash_points
