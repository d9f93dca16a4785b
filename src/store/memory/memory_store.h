// A store that keeps everything in memory and never fails: for tests and the simulator. It keeps
// the contract of any other store, but its content ends with it.
#pragma once

#include "store/tables.h"

namespace millrace::store {

Store make_memory_store();

}  // namespace millrace::store
