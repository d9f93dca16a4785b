// X5: each change that an operator asked for has its entry in the same batch, right behind it.
#pragma once

#include <cstdint>

#include "core/event.h"
#include "sim/world/marks.h"

namespace millrace::sim {

// Among nodes an older one may take part, for which entries are left out.
enum class Entries : std::uint8_t { kDemanded, kMayLack };

// `before`: the number of entries in earlier rows.
void check_entries(Seq row, const core::EventBatch& batch, std::uint64_t before, Entries entries,
                   Marks& marks);

}  // namespace millrace::sim
