// Whether a store that was just opened keeps every promise.
#pragma once

#include <string>
#include <vector>

#include "engine/recovery.h"
#include "sim/crash_points/ledger.h"
#include "store/tables.h"

namespace millrace::crash_points {

// The state that is found is the state after a row that was decided, no older than what was
// answered, and holds every job that was answered for with its bytes and its end. Sentences of what
// is wrong.
std::vector<std::string> examine_state(const engine::Recovered& recovered, store::Store& store,
                                       const Ledger& ledger);

// The files themselves are sound, and the journal in them goes as far as `at_least`.
std::vector<std::string> examine_files(const std::string& directory, Seq at_least);

}  // namespace millrace::crash_points
