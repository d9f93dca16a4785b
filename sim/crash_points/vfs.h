// SQLite's files on a simulated disk. It does what SQLite's own layer for Unix does, call by call:
// the same locks, the same syncs of directories, the same answers to the same errors. The memory
// that connections share for a write-ahead log is heap memory, gone with the process: so it is on a
// real system too, where the first connection begins it anew.
#pragma once

#include "sim/crash_points/disk.h"

namespace millrace::crash_points {

// From now on all databases of this process lie on `disk`, which must outlive them. Once.
void install_vfs(Disk& disk);

// After a death: no file is open, no lock is held. What was open before must not be used any more.
void forget_open_databases();

}  // namespace millrace::crash_points
