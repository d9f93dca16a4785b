// A store that keeps everything in memory and never fails: for tests and the simulator. It meets
// the contract of every other store, except that its content does not outlive it.
#pragma once

#include "store/tables.h"

namespace millrace::store {

Store make_memory_store();

}  // namespace millrace::store
