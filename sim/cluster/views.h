// A simulated store as seen by a process: reads are carried out unless a fault is set. Appends and
// flushes take a different path, on which they have a beginning and an end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "store/event_codec.h"
#include "store/memory/memory_journal.h"
#include "store/memory/memory_tables.h"
#include "store/tables.h"

namespace millrace::sim {

// The newest format that this build knows.
inline constexpr auto kNewestFormat = static_cast<std::uint32_t>(store::kNewestEventFormat);

struct View {
  enum class Read : std::uint8_t {
    kState,  // at the start, and of the journal
    kJobs,   // while it serves
  };
  std::uint32_t shard = 0;
  std::function<store::MemoryJournal&()> journal;
  std::function<store::MemoryTables&()> tables;
  // Called before each read; returns the error if the read is to fail.
  std::function<std::optional<Error>(Read)> fault;
  std::uint32_t reads = static_cast<std::uint32_t>(store::kNewestEventFormat);
  store::Fences* fences = nullptr;
};

store::Store open_view(View view);

}  // namespace millrace::sim
