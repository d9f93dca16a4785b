#include "store/memory/memory_store.h"

#include "store/memory/memory_journal.h"
#include "store/memory/memory_tables.h"

namespace millrace::store {

Store make_memory_store() {
  return {"memory", std::make_unique<MemoryJournal>(), std::make_unique<MemoryTables>(), nullptr};
}

}  // namespace millrace::store
