// An operation that makes the read models anew. It touches no job: the cursor of a part counts the
// rows of the shard's journal that are still to be read, and `changed` those that were.
#pragma once

#include <cstdint>

namespace millrace::core {

// The cursor of a part that has not begun to read: above every number of rows.
inline constexpr std::uint64_t kRowsNotCounted = std::uint64_t{1} << 53;

}  // namespace millrace::core
