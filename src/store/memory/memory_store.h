// A store that keeps everything in memory and never fails: for tests and the simulator. The same
// contract as any other store, but what it holds ends with it.
#pragma once

#include "store/tables.h"

namespace millrace::store {

Store make_memory_store();

}  // namespace millrace::store
