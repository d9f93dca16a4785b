// An operation that rebuilds the read models. It touches no job: the cursor of a part counts the
// shard's journal rows still to be read, and `changed` counts those already read.
#pragma once

#include <cstdint>

namespace millrace::core {

// The cursor of a part that has not started to read: greater than any number of rows.
inline constexpr std::uint64_t kRowsNotCounted = std::uint64_t{1} << 53;

}  // namespace millrace::core
