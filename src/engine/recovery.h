// A shard's state read back from its store: the tables' live rows, then the journal after them.
#pragma once

#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/result.h"
#include "core/machine.h"
#include "store/tables.h"

namespace millrace::engine {

struct Recovered {
  std::unique_ptr<core::Machine> machine;
  store::Progress projected;  // the tables' state
  Seq head{};                 // the journal's newest row, which the machine has applied
  store::Checksum head_checksum;
  Epoch last_epoch{};
};

// Refuses a store whose journal does not continue its tables row by row, checksum by checksum:
// nothing is skipped, and nothing is written.
Result<Recovered> recover_state(std::uint32_t shard, const core::MachineOptions& options,
                                store::Store& store);

}  // namespace millrace::engine
