// Checks that a newly opened store keeps every promise.
#pragma once

#include <string>
#include <vector>

#include "engine/shard/recovery.h"
#include "sim/crash_points/ledger.h"
#include "store/tables.h"

namespace millrace::crash_points {

// Checks that the state equals the state after some decided row, is no older than what was
// answered, and has every acknowledged job with its bytes and its end. Returns a sentence for each
// problem.
std::vector<std::string> examine_state(const engine::Recovered& recovered, store::Store& store,
                                       const Ledger& ledger);

// Checks that the files are sound and that their journal reaches `at_least`.
std::vector<std::string> examine_files(const std::string& directory, Seq at_least);

}  // namespace millrace::crash_points
