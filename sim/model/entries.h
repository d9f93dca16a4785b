// X5: each change requested by an operator is followed by its audit entry in the same batch.
#pragma once

#include <cstdint>

#include "core/event.h"
#include "sim/world/marks.h"

namespace millrace::sim {

// While an older node may take part, entries may be missing.
enum class Entries : std::uint8_t { kDemanded, kMayLack };

// `before`: the number of entries in earlier rows.
void check_entries(Seq row, const core::EventBatch& batch, std::uint64_t before, Entries entries,
                   Marks& marks);

}  // namespace millrace::sim
